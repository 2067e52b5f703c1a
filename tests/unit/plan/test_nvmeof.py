"""NVMe-oF storage planned: names from slots, a port an address, a path a network, and nothing moves."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from rackwright import canonical
from rackwright.plan.nvmeof import identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan
    from rackwright.plan.nvmeof_model import NvmeofPlan

    Values = dict[str, Any]
    PlanOf = Callable[..., tuple[Plan, Lock]]


@pytest.fixture
def values(hall: Values) -> Values:
    hall["pools"]["head"]["fabrics"] = {"compute": {"nics": 2}}
    hall["storage"] = {
        "fast": {
            "kind": "nvmeof",
            "site": "hall",
            "targets": ["head"],
            "hosts": ["node"],
            "dhchap": "state:secrets/dhchap.csv",
            "networks": {"compute": {"non_optimized": [2]}},
            "subsystems": {
                "one": {
                    "target": "head-001",
                    "hosts": ["node-001"],
                    "use": "scratch",
                    "namespaces": {
                        "a": {
                            "nsid": 1,
                            "device": "/dev/disk/by-id/a",
                            "file_system": "ext4",
                            "mount": "/fast",
                        }
                    },
                },
                "both": {
                    "target": "head-001",
                    "hosts": ["node-002", "node-001"],
                    "namespaces": {"b": {"nsid": 3, "device": "/dev/disk/by-id/b", "ana_group": 2}},
                },
            },
        }
    }
    return hall


def _planned(plan_of: PlanOf, values: Values) -> NvmeofPlan:
    plan = plan_of(copy.deepcopy(values))[0].nvmeof
    assert plan is not None
    return plan


def test_a_target_has_a_port_for_each_address_and_only_its_hosts(plan_of: PlanOf, values: Values) -> None:
    plan = _planned(plan_of, values)
    (target,) = plan.targets.values()
    assert len({port.address for port in target.ports}) == 2
    assert {(port.transport, port.service) for port in target.ports} == {("tcp", 4420)}
    assert [port.ana for port in target.ports] == [{"2": "non-optimized"}] * 2
    allowed = {
        tuple(served.hosts): [one.nsid for one in served.namespaces] for served in target.subsystems.values()
    }
    assert allowed == {("node-001",): [1], ("node-001", "node-002"): [3]}
    assert all(served.authenticated for served in target.subsystems.values())
    assert all(
        set(served.ports) == {port.id for port in target.ports} for served in target.subsystems.values()
    )


def test_a_host_has_a_path_for_each_network_and_the_time_outs_of_its_use(
    plan_of: PlanOf, values: Values
) -> None:
    plan = _planned(plan_of, values)
    first, second = plan.hosts["node-001"], plan.hosts["node-002"]
    assert sorted(one.loss_timeout_s for one in first.subsystems.values()) == [-1, 600]
    assert [one.loss_timeout_s for one in second.subsystems.values()] == [-1]
    for host in (first, second):
        for one in host.subsystems.values():
            assert {route.address for route in one.routes} == {
                port.address for port in plan.targets["head-001"].ports
            }
            assert len({route.source for route in one.routes}) == 2
    (mount,) = [mount for one in first.subsystems.values() for mount in one.mounts]
    assert (mount.file_system, mount.mount) == ("ext4", "/fast")


def test_names_come_from_the_slot_and_its_cluster_alone(plan_of: PlanOf, values: Values) -> None:
    plan = _planned(plan_of, values)
    assert plan.hosts["node-001"].identity == identity("small.small.example", "node-001")
    assert plan.hosts["node-001"].identity.nqn.endswith(plan.hosts["node-001"].identity.id)
    assert identity("other.small.example", "node-001") != identity("small.small.example", "node-001")


def test_what_is_added_or_taken_away_moves_nothing_of_what_stays(plan_of: PlanOf, values: Values) -> None:
    before = _planned(plan_of, values)
    more = copy.deepcopy(values)
    more["storage"]["fast"]["networks"]["management"] = {}
    more["storage"]["fast"]["subsystems"]["also"] = {
        "target": "head-001",
        "hosts": ["node-003"],
        "namespaces": {"c": {"nsid": 1, "device": "/dev/disk/by-id/c"}},
    }
    after = _planned(plan_of, more)
    ports = {port.address: port for port in after.targets["head-001"].ports}
    assert all(ports[port.address].id == port.id for port in before.targets["head-001"].ports)
    assert before.targets["head-001"].subsystems.keys() < after.targets["head-001"].subsystems.keys()
    for nqn, served in before.targets["head-001"].subsystems.items():
        assert after.targets["head-001"].subsystems[nqn].namespaces == served.namespaces


def test_a_slot_that_has_no_part_any_more_is_told_so(plan_of: PlanOf, values: Values) -> None:
    values["storage"]["fast"]["subsystems"] = {}
    plan = _planned(plan_of, values)
    assert plan.targets["head-001"].subsystems == {}
    assert [name for name, host in plan.hosts.items() if not host.subsystems] == [
        f"node-{number:03d}" for number in range(1, 5)
    ]


def test_no_key_is_in_a_plan_only_where_it_is(plan_of: PlanOf, values: Values) -> None:
    plan = _planned(plan_of, values)
    assert plan.secrets == {"fast": "state:secrets/dhchap.csv"}
    assert "DHHC-1" not in canonical.dumps(plan)


def test_a_plan_without_such_storage_does_not_mention_it(plan_of: PlanOf, hall: Values) -> None:
    plan, _ = plan_of(hall)
    assert plan.nvmeof is None
    assert '"nvmeof"' not in canonical.dumps(plan)
