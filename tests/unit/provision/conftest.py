"""Controllers on loopback, and how their hosts are wanted."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

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

    from rackwright.provision.onprem.bounded import Limits
    from rackwright.provision.onprem.model import WantedHost


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
