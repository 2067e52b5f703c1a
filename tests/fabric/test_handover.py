"""Master and standby of a planned fabric: opensm twice, with its rendered files, on a simulated network."""

from __future__ import annotations

import re
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from rackwright.plan.build import build
from rackwright.render.fabric.network import Network, manager_guid, network
from rackwright.render.fabric.opensm import of_hosts, on_host
from rackwright.validate.fabric.simulation import program, simulated
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

pytestmark = [pytest.mark.usefixtures("tools"), pytest.mark.slow]

MASTER, STANDBY = "mgmt-001", "mgmt-002"
WITHIN_S = 300
QUIET_S = 5
"""Packets of two managers that sweep at once can be lost in ibsim, and libumad2sim has no time-outs, which a
kernel has: opensm then waits without end for an answer, as a rule after `Entering MASTER` (by gdb: its state
manager waits for transactions, its receiver in libumad2sim's poll). So one is quiet before another begins."""
_SAID = re.compile(r"(Entering \w+|\w+ tables configured on all switches|Exiting)")


class Manager:
    """One of the two, as its unit would start it."""

    def __init__(self, folder: Path, files: dict[str, str], environment: dict[str, str]) -> None:
        folder.mkdir()
        there, self.log, self.conf = on_host("compute"), folder / "log", folder / "opensm.conf"
        for name, text in files.items():
            moved = text.replace(there.folder, str(folder)).replace(there.log, str(self.log))
            (folder / name).write_text(moved)
        self.waits_s = int(files["opensm.env"].rpartition("=")[2])
        places = {"OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder)}
        self.environment = {**environment, **places}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["sh", "-c", f"sleep {self.waits_s}; exec {program('opensm')} -F {self.conf}"],
            env=self.environment,
            cwd=self.conf.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()

    def last(self) -> str:
        """What it said last of what it is doing."""
        found = _SAID.findall(self.log.read_text(errors="replace")) if self.log.exists() else []
        return found[-1] if found else ""

    def routes(self) -> bool:
        return self.last().startswith("ftree tables")

    def is_quiet(self) -> bool:
        """Nothing more said for some seconds: it sweeps no more."""
        return time.time() - self.log.stat().st_mtime > QUIET_S

    def stands_by(self) -> bool:
        return self.last() == "Entering STANDBY"


def until(holds: Callable[[], bool], *both: Manager) -> None:
    ends = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < ends, [one.last() for one in both]
        time.sleep(0.2)


@pytest.fixture
def plan(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Plan:
    return build(make_loaded(superpod.managed()), catalogue, None)[0]


@pytest.fixture
def both(plan: Plan, tmp_path: Path) -> Iterator[tuple[Manager, Manager]]:
    net: Network = network(plan, "compute")
    files: dict[str, dict[str, str]] = {}
    for path, text in of_hosts(plan, {"compute": net}):
        slot, _, name = path.split("/")
        files.setdefault(slot, {})[name] = text
    with simulated(net, f"H-{manager_guid(1)}", tmp_path, WITHIN_S) as simulation:
        managers = [
            Manager(
                tmp_path / slot,
                files[slot],
                {**simulation.environment, "SIM_HOST": f"H-{manager_guid(number)}"},
            )
            for number, slot in enumerate((MASTER, STANDBY), 1)
        ]
        try:
            yield managers[0], managers[1]
        finally:
            for one in managers:
                one.stop()


def test_the_standby_takes_over_and_hands_back(both: tuple[Manager, Manager]) -> None:
    """Begun at once, as after a blackout; then the master goes, and comes again."""
    master, standby = both
    standby.start()
    master.start()
    until(lambda: master.routes() and standby.stands_by() and standby.is_quiet(), *both)
    master.stop()
    until(lambda: standby.routes() and standby.is_quiet(), *both)
    master.start()
    until(lambda: master.routes() and standby.stands_by(), *both)
