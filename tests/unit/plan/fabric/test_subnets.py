"""Who manages which InfiniBand subnet, by which of its ports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.plan.build import build
from rackwright.plan.fabric.model import ManagerPlan
from rackwright.spec.assets import Asset
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

GUIDS = ("a088c20300aa0001", "a088c20300aa0002")


@pytest.fixture
def planned(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Callable[..., Plan]:
    """A unit, and five hosts with the role, of which the first is delivered."""

    def plan(guids: tuple[str, ...] = (), kind: str = "opensm", planes: int = 1) -> Plan:
        values: dict[str, Any] = superpod.values(32, planes=planes)
        values["pools"]["mgmt"] = {
            "site": "hall",
            "platform": "cpu-1u",
            "image": "dgx",
            "nodes": {"static": 5},
            "roles": ["subnet-manager"],
        }
        values["fabrics"]["compute"]["manager"] = {"kind": kind}
        asset = Asset(serial="1", bmc_mac="02:00:00:00:00:01", boot_mac="02:00:00:00:00:02", hca_guids=guids)
        loaded = replace(make_loaded(values), assets={"mgmt-001": asset})
        return build(loaded, catalogue, None)[0]

    return plan


def test_the_first_two_hosts_with_the_role_are_master_and_standby(planned: Callable[..., Plan]) -> None:
    assert planned(GUIDS[:1]).subnets["compute"].managers == (
        ManagerPlan(slot="mgmt-001", priority=15, guid=GUIDS[0]),
        ManagerPlan(slot="mgmt-002", priority=14, guid=None),
    )


def test_each_plane_is_a_subnet_by_a_port_of_its_own(planned: Callable[..., Plan]) -> None:
    subnets = planned(GUIDS, planes=2).subnets
    assert {name: (one.plane, one.managers[0].guid) for name, one in subnets.items()} == {
        "compute-p1": (1, GUIDS[0]),
        "compute-p2": (2, GUIDS[1]),
    }


def test_what_ufm_manages_is_no_subnet_of_ours(planned: Callable[..., Plan]) -> None:
    assert planned(kind="ufm").subnets == {}
