"""Controllers on loopback, and how their hosts are wanted; a zone, and an engine that only counts."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from rackwright.plan.build import build
from rackwright.plan.model import BmcPlan, HostPlan
from rackwright.provision.onprem.model import WantedSet, wanted_host
from rackwright.provision.onprem.reconcile import Reconciler
from rackwright.provision.onprem.redfish import Access
from rackwright.provision.places import Folders
from rackwright.spec.credentials import parse
from tests.doubles.redfish import Bmc, Hall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.model import Plan
    from rackwright.provision.onprem.bounded import Limits
    from rackwright.provision.onprem.model import WantedHost
    from rackwright.spec.load import LoadedSpec

_ENGINE = """#!/bin/sh
[ "$1" = version ] && echo v3.274.1 && exit
shift
case "$*" in "stack output"*|"stack export"*|"stack select"*) words="$1 $2";; *) words="$1";; esac
echo "$words" >> "$STARTS"
echo "$RACKWRIGHT_PLAN_SHA256" > "$STARTS.plan"
if [ "$words" = "stack export" ] && [ -e "$STARTS.full" ]; then
    echo "error: write it: no space left on device" >&2
    exit 255
fi
case "$words" in
    "stack output") echo '{"outputs": {}}';;
    "stack export") echo '{"version": 3, "deployment": {}}';;
esac
"""


@dataclass
class Ground:
    """A hall, and the way to its controllers."""

    hall: Hall
    access: Access
    reconciler: Reconciler
    folders: Folders

    def bmc(self, slot: str) -> Bmc:
        return self.hall.bmcs[slot]

    def wanted(self, **held: str) -> dict[str, WantedHost]:
        """All hosts as they are, as a plan wants them; a keyword ``node_001`` says why that one is held."""
        why = {slot.replace("_", "-"): reason for slot, reason in held.items()}
        return {
            slot: wanted_host(
                HostPlan(
                    bmc_address=bmc.address,
                    serial=bmc.serial,
                    boot_mac=bmc.macs[-1],
                    held=why.get(slot, ""),
                )
            )
            for slot, bmc in self.hall.bmcs.items()
        }

    def wanted_set(self, **held: str) -> WantedSet:
        bmc = BmcPlan(
            protocol="redfish", port=self.hall.port, credentials="file:bmc.csv", ca="state:bmc-ca.pem"
        )
        return WantedSet(site="hall", pool="node", bmc=bmc, hosts=self.wanted(**held))

    def limited(self, limits: Limits) -> Access:
        return replace(self.access, limits=limits)


@pytest.fixture
def make_ground(tmp_path: Path) -> Iterator[Callable[..., Ground]]:
    """Ground with some hosts, `node-001` and so on; at most one a test."""
    with ExitStack() as stack:

        def make(hosts: int = 2) -> Ground:
            bmcs = {f"node-{number:03d}": _bmc(number) for number in range(1, hosts + 1)}
            hall = stack.enter_context(Hall(tmp_path, bmcs))
            (tmp_path / "bmc.csv").write_text(hall.credentials())
            access = Access(hall.port, hall.authority.pem, parse(hall.credentials(), "file:bmc.csv"))
            return Ground(hall, access, Reconciler(), Folders(spec=tmp_path, state=tmp_path))

        yield make


@pytest.fixture
def ground(make_ground: Callable[..., Ground]) -> Ground:
    """Two hosts, both off."""
    return make_ground()


def _bmc(number: int) -> Bmc:
    """Lists another NIC before the one that boots."""
    return Bmc(
        f"127.78.{number >> 8}.{number & 255}",
        f"S{number:05d}",
        [
            f"02:ff:00:00:{number >> 8:02x}:{number & 255:02x}",
            f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}",
        ],
    )


@pytest.fixture
def zone_plan(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Plan:
    """A zone of one node."""
    values = {
        "rackwright": 1,
        "cluster": {"name": "z", "domain": "z.example"},
        "images": {"base": {"os": "debian-13", "ami": "ami-0123456789abcdef0"}},
        "sites": {
            "cloud": {
                "kind": "aws",
                "account": "123456789012",
                "region": "us-east-1",
                "zone_id": "use1-az1",
                "vpc": {"cidrs": ["10.64.0.0/16"]},
            }
        },
        "pools": {"n": {"site": "cloud", "platform": "lab1.2rail", "nodes": {"static": 1}, "image": "base"}},
    }
    return build(make_loaded(values), catalogue, None)[0]


@pytest.fixture
def starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What the engine was started for, so far: it is a shell script.

    Beside its list `starts` it keeps what plan it was told of. With `starts.full` it can export no state.
    """
    for name in ("pulumi", "pulumi-language-python"):
        script = tmp_path / name
        script.write_text(_ENGINE)
        script.chmod(0o755)
    log = tmp_path / "starts"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("STARTS", str(log))
    return lambda: log.read_text().splitlines()
