"""A hall whose controllers answer on loopback, and a spec of it for the real command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rackwright import paths
from rackwright.errors import EnvironmentUnfit
from rackwright.provision.places import engine
from tests.doubles.redfish import Bmc, Hall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SCRIPT = Path(sys.executable).with_name("rackwright")
STACKS = paths.repository() / "stacks"
TIMEOUT_S = 300


@dataclass
class Site:
    """One cluster in files, its controllers, and the folders that its commands use."""

    folder: Path
    hall: Hall
    name: str
    held: set[str] = field(default_factory=set)
    serials: dict[str, str] = field(default_factory=dict)
    """What the asset file says where that is not what the machine says."""

    @property
    def spec(self) -> Path:
        return self.folder / f"{self.name}.yaml"

    @property
    def state(self) -> Path:
        return self.folder / "state" / "rackwright" / self.name

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}

    def write(self) -> None:
        """Spec, assets, authority and credentials, as they now are."""
        self.spec.write_text(json.dumps(self._spec()))
        (self.folder / "assets.csv").write_text(
            "\n".join(["slot,serial,bmc_address,bmc_mac,boot_mac,hca_guids,state", *self._rows(), ""])
        )
        (self.folder / "bmc.csv").write_text(self.hall.credentials())
        shutil.copy(self.hall.authority.pem, self.folder / "ca.pem")

    def _rows(self) -> Iterator[str]:
        for slot, bmc in self.hall.bmcs.items():
            serial = self.serials.get(slot, bmc.serial)
            mac = bmc.macs[0]
            state = "maintenance" if slot in self.held else ""
            yield f"{slot},{serial},{bmc.address},{mac.replace('02:00', '02:01', 1)},{mac},,{state}"

    def _spec(self) -> object:
        access = {"console_logs": "state:console"}
        return {
            "rackwright": 1,
            "cluster": {"name": self.name, "domain": "test.example"},
            "images": {"debian": {"os": "debian-13"}},
            "sites": {
                "hall": {
                    "kind": "onprem",
                    "racks": {"rows": 10, "per_row": 20, "units": 48, "power_kw": 40},
                    "access": access,
                    "networks": {"management": {"cidr": "10.99.0.0/16"}, "bmc": {"cidr": "127.77.0.0/16"}},
                    "bmc": {"credentials": "file:bmc.csv", "ca": "file:ca.pem", "port": self.hall.port},
                }
            },
            "pools": {
                "node": {
                    "site": "hall",
                    "platform": "lab-node",
                    "nodes": {"static": len(self.hall.bmcs)},
                    "image": "debian",
                    "assets": "file:assets.csv",
                }
            },
        }

    def command(self, *words: str) -> list[str]:
        """Words of a command on this spec: the verb, the spec, its options."""
        verb = list(words[:2]) if words[0] == "stacks" else [words[0]]
        return [str(SCRIPT), *verb, str(self.spec), *words[len(verb) :]]

    def run(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run one command to its end, and assert its exit code."""
        done = subprocess.run(
            self.command(*words),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def stack(self, *words: str, code: int = 0) -> Mapping[str, Any]:
        """The one stack of a command's JSON answer."""
        answer = json.loads(self.run(*words, "--format", "json", code=code).stdout)
        assert answer["schema"] == "rackwright/stacks/1"
        entry: Mapping[str, Any] = answer["stacks"][f"onprem/{self.name}-hall"]
        return entry

    def plan(self) -> None:
        self.write()
        self.run("plan")

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Begin a command that a test will cut off."""
        return subprocess.Popen(
            self.command(*words),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """A planned site of some hosts; all goes at the end, its stack settings too."""
    try:
        engine()
    except EnvironmentUnfit as error:
        pytest.skip(f"{error.message}: {error.hint}")
    made: list[Site] = []

    def make(hosts: int = 3, passwords: str = "secret") -> Site:
        bmcs = {f"node-{number:03d}": _bmc(number, passwords) for number in range(1, hosts + 1)}
        site = Site(tmp_path, Hall(tmp_path, bmcs), f"t{uuid.uuid4().hex[:8]}")
        made.append(site)
        site.plan()
        return site

    yield make
    for site in made:
        site.hall.close()
        (STACKS / "onprem" / f"Pulumi.{site.name}-hall.yaml").unlink(missing_ok=True)


def _bmc(number: int, password: str) -> Bmc:
    index = number - 1 + 16
    mac = f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}"
    return Bmc(f"127.77.{index >> 8}.{index & 255}", f"S{number:05d}", [mac], password=password)
