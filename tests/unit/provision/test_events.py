"""The engine's events, in the form in which it sends them, and what they mean for hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from pulumi.automation.events import EngineEvent

from rackwright.provision.events import Watch, resources
from rackwright.provision.kinds import KINDS, sets
from rackwright.provision.onprem.hostset import foreseen
from rackwright.provision.onprem.model import HOST_SET, FoundSet, WantedSet

if TYPE_CHECKING:
    from tests.unit.provision.conftest import Ground

URN = f"urn:pulumi:t-hall::onprem::rackwright:onprem:Hall${HOST_SET}::node-u01"


@dataclass
class State:
    """One side of a step: inputs, outputs or both."""

    inputs: WantedSet | None = None
    outputs: FoundSet | None = None
    type: str = HOST_SET

    def message(self) -> dict[str, object]:
        own: dict[str, object] = {"__internal": {}}
        return {
            "type": self.type,
            "urn": URN,
            "inputs": own | (self.inputs.model_dump(mode="json") if self.inputs else {}),
            "outputs": own | (self.outputs.model_dump(mode="json") if self.outputs else {}),
        }


def _step(kind: str, op: str, old: State | None = None, new: State | None = None) -> EngineEvent:
    metadata: dict[str, object] = {"op": op, "urn": URN, "type": (new or old or State()).type, "provider": ""}
    metadata |= {name: state.message() for name, state in (("old", old), ("new", new)) if state}
    return EngineEvent.from_json({"sequence": 1, "timestamp": 1, kind: {"metadata": metadata}})


@pytest.fixture
def wanted(ground: Ground) -> WantedSet:
    return ground.wanted_set()


@pytest.fixture
def up(wanted: WantedSet) -> FoundSet:
    return foreseen(wanted)


def _off(found: FoundSet, slot: str) -> FoundSet:
    hosts = found.hosts | {slot: found.hosts[slot].model_copy(update={"power": "off"})}
    return found.model_copy(update={"hosts": hosts})


def _watched(*events: EngineEvent) -> tuple[Watch, list[str]]:
    told: list[str] = []
    watch = Watch(told.append)
    for event in events:
        watch.take(event)
    return watch, told


def test_a_new_set_is_a_change_a_host_and_a_line_a_step(wanted: WantedSet, up: FoundSet) -> None:
    watch, told = _watched(
        _step("resourcePreEvent", "create", new=State(wanted)),
        _step("resOutputsEvent", "create", new=State(wanted, up)),
    )
    assert [str(change) for change in watch.changes] == [
        "node-001: power none -> on",
        "node-002: power none -> on",
    ]
    assert told == ["  node-u01: create, 2 hosts", "  node-u01: 2 of 2 hosts on"]


def test_what_reading_finds_is_drift_and_no_change(wanted: WantedSet, up: FoundSet) -> None:
    off = _off(up, "node-002")
    watch, told = _watched(
        _step("resourcePreEvent", "refresh", old=State(outputs=up), new=State(outputs=up)),
        _step("resOutputsEvent", "refresh", old=State(outputs=up), new=State(wanted, off)),
        _step("resourcePreEvent", "update", old=State(outputs=off), new=State(wanted)),
    )
    assert [str(change) for change in watch.drift] == ["node-002: power on -> off"]
    assert [str(change) for change in watch.changes] == ["node-002: power off -> on"]
    assert watch.sets == [(KINDS[HOST_SET], off)]
    assert told == ["  found node-002: power on -> off", "  node-u01: update, 1 host"]


def test_a_plain_refresh_ends_its_reading_under_another_name(wanted: WantedSet, up: FoundSet) -> None:
    off = _off(up, "node-001")
    watch, _ = _watched(
        _step("resourcePreEvent", "refresh", old=State(outputs=up), new=State(outputs=up)),
        _step("resOutputsEvent", "update", old=State(outputs=up), new=State(wanted, off)),
    )
    assert [str(change) for change in watch.drift] == ["node-001: power on -> off"]
    assert watch.changes == []


def test_a_set_that_failed_in_part_tells_how_many_are_on(wanted: WantedSet, up: FoundSet) -> None:
    _, told = _watched(
        _step("resOpFailedEvent", "update", old=State(outputs=up), new=State(wanted, _off(up, "node-001")))
    )
    assert told == ["  node-u01: 1 of 2 hosts on"]


def test_a_preview_tells_of_no_host_that_is_on_and_keeps_what_it_foresees(
    wanted: WantedSet, up: FoundSet
) -> None:
    told: list[str] = []
    watch = Watch(told.append, preview=True)
    watch.take(_step("resourcePreEvent", "create", new=State(wanted)))
    watch.take(_step("resOutputsEvent", "create", new=State(wanted, _off(up, "node-001"))))
    assert told == ["  node-u01: create, 2 hosts"]
    assert watch.sets == [(KINDS[HOST_SET], _off(up, "node-001"))]


def test_a_set_that_goes_is_forgotten(up: FoundSet) -> None:
    watch, _ = _watched(_step("resourcePreEvent", "delete", old=State(outputs=up)))
    assert [str(change) for change in watch.changes] == [
        "node-001: slot forgotten",
        "node-002: slot forgotten",
    ]


def test_other_resources_and_unchanged_sets_say_nothing(wanted: WantedSet, up: FoundSet) -> None:
    watch, told = _watched(
        _step("resourcePreEvent", "create", new=State(wanted, type="rackwright:onprem:Hall")),
        _step("resourcePreEvent", "same", old=State(outputs=up), new=State(wanted)),
        _step("resOutputsEvent", "same", old=State(outputs=up), new=State(wanted, up)),
    )
    assert (watch.changes, watch.drift, told) == ([], [], [])


def test_the_summary_counts_resources() -> None:
    summary = {"maybeCorrupt": False, "durationSeconds": 1, "resourceChanges": {"same": 2, "update": 1}}
    watch, _ = _watched(EngineEvent.from_json({"sequence": 1, "timestamp": 1, "summaryEvent": summary}))
    assert watch.resources == {"same": 2, "update": 1}


def test_sets_are_read_from_the_engine_s_state_and_others_passed_over(up: FoundSet) -> None:
    deployment = {
        "resources": [
            {"type": "pulumi:pulumi:Stack"},
            {"type": HOST_SET, "outputs": up.model_dump(mode="json")},
            {"type": HOST_SET, "outputs": {"hosts": "of another version"}},
        ]
    }
    assert list(sets(deployment)) == [(KINDS[HOST_SET], up)]
    assert list(sets(None)) == []


def _of_cloud(kind: str, op: str) -> EngineEvent:
    urn = "urn:pulumi:t-zone::aws-network::rackwright:aws:ClusterNetwork$aws:ec2/vpc:Vpc::vpc"
    metadata = {"op": op, "urn": urn, "type": "aws:ec2/vpc:Vpc", "provider": ""}
    return EngineEvent.from_json({"sequence": 1, "timestamp": 1, kind: {"metadata": metadata}})


@pytest.mark.parametrize(
    ("op", "says"),
    [
        ("create", "vpc: aws:ec2/vpc:Vpc none -> there"),
        ("update", "vpc: aws:ec2/vpc:Vpc there -> changed"),
        ("replace", "vpc: aws:ec2/vpc:Vpc there -> replaced"),
        ("delete", "vpc: aws:ec2/vpc:Vpc there -> gone"),
    ],
)
def test_a_step_of_a_resource_of_the_cloud_is_a_change(op: str, says: str) -> None:
    watch, told = _watched(_of_cloud("resourcePreEvent", op), _of_cloud("resourcePreEvent", "same"))
    assert [str(change) for change in watch.changes] == [says]
    assert told == [f"  {says}"]


def test_a_replacement_in_three_steps_is_told_once() -> None:
    steps = [_of_cloud("resourcePreEvent", op) for op in ("create-replacement", "replace", "delete-replaced")]
    watch, _ = _watched(*steps)
    assert len(watch.changes) == 1


def test_an_error_of_a_resource_names_it_and_those_of_sets_and_of_the_stack_are_told_elsewhere() -> None:
    def says(urn: str, severity: str = "error") -> EngineEvent:
        told = {
            "urn": urn,
            "prefix": "",
            "message": "creating VPC:\n  VpcLimitExceeded<{%reset%}>",
            "color": "",
        }
        return EngineEvent.from_json(
            {"sequence": 1, "timestamp": 1, "diagnosticEvent": {**told, "severity": severity}}
        )

    vpc = "urn:pulumi:t::aws-network::rackwright:aws:ClusterNetwork$aws:ec2/vpc:Vpc::vpc"
    stack = "urn:pulumi:t::aws-network::pulumi:pulumi:Stack::aws-network-t"
    watch, _ = _watched(says(vpc), says(vpc, "warning"), says(stack), says(URN), says(""))
    [failure] = watch.failures
    assert (failure.subject, failure.code) == ("vpc", "PULUMI005")
    assert failure.cause == "creating VPC: VpcLimitExceeded"


def test_resources_of_the_cloud_are_read_from_the_engine_s_state_without_components_and_providers() -> None:
    types = ["pulumi:pulumi:Stack", "pulumi:providers:aws", "rackwright:aws:ClusterNetwork", HOST_SET]
    deployment = {
        "resources": [{"type": one, "urn": f"a::b::{one}::x"} for one in [*types, "aws:ec2/vpc:Vpc"]]
    }
    assert [str(change) for change in resources(deployment)] == ["x: aws:ec2/vpc:Vpc there -> gone"]
    assert list(resources(None)) == []
