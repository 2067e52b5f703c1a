"""What roles lay of all sites at once: one file of names, and for a controller what lies beyond its links."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.render.files import for_roles

if TYPE_CHECKING:
    from rackwright.plan.model import Plan


def plan_of(example: str) -> Plan:
    return open_cluster(paths.repository() / "clusters" / f"{example}.yaml").plan


@pytest.fixture(scope="module")
def hybrid() -> Plan:
    return plan_of("lab-hybrid")


def test_names_and_addresses_of_all_sites_are_in_one_file(hybrid: Plan) -> None:
    [hosts] = [file for file in for_roles(hybrid) if file.path == "hosts"]
    found = {line.split()[-1]: line.split()[0] for line in hosts.content.splitlines() if line[:3] == "10."}
    slots = [slot for pool in hybrid.pools.values() for slot in pool.slots.values()]
    assert found == {slot.name: slot.addresses["management"].partition("/")[0] for slot in slots}
    assert {"head-001", "node-003", "cnode-001", "cnode-002"} <= found.keys()


def test_an_address_that_was_given_at_launch_is_known_then(hybrid: Plan) -> None:
    pool = hybrid.pools["cnode"]
    bare = {name: slot.model_copy(update={"addresses": {}}) for name, slot in pool.slots.items()}
    pools = {**hybrid.pools, "cnode": pool.model_copy(update={"slots": bare})}
    plan = hybrid.model_copy(update={"pools": pools})
    launched = {"cnode-001": "172.31.0.9", "head-001": "10.0.0.1"}
    [hosts] = [file for file in for_roles(plan, launched) if file.path == "hosts"]
    assert "172.31.0.9 cnode-001.lab.internal cnode-001" in hosts.content.splitlines()
    assert "cnode-002" not in hosts.content
    assert "10.0.0.1" not in hosts.content, "a planned address is the plan's"


def test_a_controller_knows_who_is_reached_over_a_link(hybrid: Plan) -> None:
    [links] = [file for file in for_roles(hybrid) if file.path == "slurm/main/links.json"]
    assert json.loads(links.content)["links"] == [
        {"link": "wan", "nodes": ["cnode-001", "cnode-002"], "site": "cloud"}
    ]


def test_without_a_link_there_is_no_such_file() -> None:
    assert "slurm/main/links.json" not in {file.path for file in for_roles(plan_of("onprem-dgx-h100"))}
