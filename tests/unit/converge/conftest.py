"""An inventory: a head in a rack of its own row, four nodes in two racks, one more without a key."""

from __future__ import annotations

import pytest

from rackwright.inventory.model import Absence, Absent, Host, Inventory
from rackwright.plan.observed import HostKey
from rackwright.spec.pools import Role

_KEY = HostKey(type="ssh-ed25519", key="AAAA")


def _host(pool: str, number: int, rack: str | None, roles: tuple[Role, ...] = ()) -> Host:
    return Host(
        kind="onprem",
        instance="",
        site="hall",
        pool=pool,
        platform="lab-node",
        image="debian",
        roles=roles,
        user="rackwright",
        bastion=None,
        address=f"10.0.0.{number}",
        addresses={},
        rails=(),
        rack=rack,
        unit=number,
        host_set=f"{pool}-u01",
        serial=f"S{number}",
        host_keys=(_KEY,),
    )


@pytest.fixture
def inventory() -> Inventory:
    nodes = {f"node-{n:03d}": _host("node", n, f"r01p0{1 + (n > 2)}") for n in range(1, 5)}
    head = _host("head", 9, "r01p01", (Role.SLURM_CONTROLLER, Role.SLURMDBD))
    gone = Absent(
        site="hall",
        pool="node",
        absence=Absence.NO_KEY,
        code="KEY001",
        reason="no console log",
        got="neither",
        hint="look",
    )
    return Inventory(
        cluster="t", domain="t.example", hosts={"head-001": head, **nodes}, absent={"node-005": gone}
    )
