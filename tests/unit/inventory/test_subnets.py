"""Who manages which InfiniBand subnet, as roles are told; and who did, and does so no more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import yaml

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.inventory import files
from rackwright.inventory.build import build as inventory_of
from rackwright.inventory.keys import Judged
from rackwright.plan.build import build
from rackwright.plan.observed import Observed, ObservedSlot
from rackwright.spec.assets import Asset
from tests.doubles import superpod
from tests.doubles.hall import host_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.inventory.model import Inventory
    from rackwright.plan.lock import Lock
    from rackwright.spec.load import LoadedSpec

    Values = dict[str, Any]

HOSTS = ("mgmt-001", "mgmt-002", "mgmt-003")


def inventory(loaded: LoadedSpec, lock: Lock | None = None) -> tuple[Inventory, Lock]:
    """Of the hosts with the role alone: nobody else is delivered."""
    assets = {
        slot: Asset(serial=slot, bmc_mac=mac, boot_mac=mac, hca_guids=())
        for number, slot in enumerate(HOSTS)
        for mac in (f"02:00:00:00:00:{number:02x}",)
    }
    plan, after = build(replace(loaded, assets=assets), load_catalogue(), lock)
    seen = {slot: ObservedSlot(host_keys=(host_key(slot),)) for slot in HOSTS}
    return inventory_of(plan, Judged(Observed(cluster="pod", slots=seen), {})), after


def values() -> Values:
    made = superpod.managed()
    made["pools"]["mgmt"]["nodes"]["static"] = len(HOSTS)
    return made


def test_master_and_standby_are_told_their_subnet_and_the_third_is_not(
    make_loaded: Callable[..., LoadedSpec],
) -> None:
    made, _ = inventory(make_loaded(values()))
    assert {name: host.subnets for name, host in made.hosts.items()} == {
        "mgmt-001": ("compute",),
        "mgmt-002": ("compute",),
        "mgmt-003": (),
    }
    assert files.groups(made)["subnet_managers"] == ["mgmt-001", "mgmt-002"]
    assert files.groups(made)["role_subnet_manager"] == list(HOSTS)


def test_who_managed_a_subnet_that_left_is_in_the_play_that_takes_it_away(
    make_loaded: Callable[..., LoadedSpec],
) -> None:
    """By its pool's role: nothing else is left of it in the inventory."""
    _, lock = inventory(make_loaded(values()))
    without = values()
    del without["pools"]["gpu"]["fabrics"]
    made, _ = inventory(make_loaded(without), lock)
    groups = files.groups(made)
    assert "subnet_managers" not in groups
    plays = yaml.safe_load((paths.repository() / "playbooks" / "site.yml").read_text())
    (leaving,) = (play for play in plays if str(play.get("hosts")).startswith("role_subnet_manager"))
    assert leaving["hosts"] == "role_subnet_manager:!subnet_managers"
    assert groups["role_subnet_manager"] == list(HOSTS)
    (task,) = leaving["tasks"]
    assert task["ansible.builtin.import_role"] == {"name": "subnet_manager", "tasks_from": "leave"}
