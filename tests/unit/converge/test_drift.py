"""What check mode's results say is otherwise on hosts, and that nothing else of a result passes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rackwright.converge.drift import Difference, DriftReport, HostState, Kind, differences
from rackwright.converge.events import task_event
from rackwright.converge.model import Status


def _found(kind: str = "ok", **result: object) -> list[Difference]:
    raw: dict[str, Any] = {
        "event": f"runner_on_{kind}",
        "created": "2026-01-01T00:00:00+00:00",
        "event_data": {
            "host": "node-001",
            "task": "Files",
            "role": "base",
            "resolved_action": "tree",
            "res": result,
        },
    }
    event = task_event(raw, "rack")
    assert event is not None
    return differences(event, result)


def _file(before: str, after: str) -> Difference:
    entry = {"before_header": "/etc/x", "after_header": "/etc/x", "before": before, "after": after}
    (one,) = _found(changed=True, diff=[entry])
    return one


@pytest.mark.parametrize(
    ("before", "after", "observed", "intended"),
    [
        ("a\nb\n", "a\nc\n", "b", "c"),
        ("a\nb\n", "a\n", "b", "the line is not there"),
        ("a\n", "a\nc\n", "the line is not there", "c"),
        ("", "a\n", "absent", "a"),
        ("there\n", "", "there", "absent"),
        ("(secret)\n", "(secret)\n", "the line is not there", "the line is not there"),
    ],
)
def test_a_file_is_named_with_the_first_line_that_differs(
    before: str, after: str, observed: str, intended: str
) -> None:
    one = _file(before, after)
    assert (one.kind, one.subject, one.role) == (Kind.FILE, "/etc/x", "base")
    assert (one.observed, one.intended) == (observed, intended)


def test_a_file_carries_its_diff() -> None:
    assert _file("a\nb\n", "a\nc\n").diff.splitlines()[-2:] == ["-b", "+c"]


def test_what_a_module_tells_itself_counts_before_all_else_it_would_change() -> None:
    told = {
        "kind": "sysctl",
        "subject": "vm.swappiness",
        "intended": "0",
        "observed": "60",
        "hint": "converge",
    }
    (one,) = _found(changed=True, drift=[told], changes=["other"])
    assert (one.kind, one.subject, one.intended, one.observed, one.hint) == (
        Kind.SYSCTL,
        "vm.swappiness",
        "0",
        "60",
        "converge",
    )


def test_a_module_that_tells_drift_without_a_change_is_heard() -> None:
    (one,) = _found(drift=[{"kind": "package", "subject": "fio", "intended": "installed", "observed": "not"}])
    assert (one.kind, one.subject) == (Kind.PACKAGE, "fio")


def test_nothing_told_and_nothing_to_change_is_no_drift() -> None:
    assert _found(changed=False, diff=[], drift=[]) == []
    assert _found(changed=False) == []
    assert _found("skipped", changed=True) == []


def test_a_change_without_details_is_the_task_itself() -> None:
    (one,) = _found(changed=True)
    assert (one.kind, one.subject, one.observed) == (Kind.TASK, "Files", "would change")
    (two,) = _found(changed=True, changes=["user rackwright: added"])
    assert two.observed == "user rackwright: added"


def test_a_task_that_fails_where_it_looks_is_drift_with_its_cause() -> None:
    (one,) = _found("failed", msg="/etc/x is a link to y, expected a file")
    assert (one.kind, one.observed) == (Kind.TASK, "/etc/x is a link to y, expected a file")


def test_a_task_of_the_controller_is_no_drift_of_a_host() -> None:
    assert _found("failed", msg="no", _ansible_delegated_vars={"ansible_host": "localhost"}) == []


def test_kernel_settings_are_told_each_under_its_kind_and_what_the_kernel_lacks_is_none() -> None:
    states = [
        {"setting": "cmdline iommu=pt", "wanted": "iommu=pt", "now": "not there", "state": "reboot"},
        {"setting": "sysctl vm.swappiness", "wanted": "0", "now": "60", "state": "live"},
        {"setting": "clocksource", "wanted": "tsc", "now": "hpet", "state": "missing"},
    ]
    changed = ["sysctl vm.swappiness: 60 becomes 0", "module_options nvme.poll: 1 becomes 2", "odd: loaded"]
    found = _found(changed=True, stdout=json.dumps({"changed": changed, "states": states}))
    assert [(one.kind, one.subject, one.intended, one.observed) for one in found] == [
        (Kind.SYSCTL, "vm.swappiness", "0", "60"),
        (Kind.MODULE, "nvme.poll", "2", "1"),
        (Kind.STATE, "odd: loaded", "nothing to do", ""),
        (Kind.CMDLINE, "iommu=pt", "iommu=pt", "not there"),
    ]


def test_an_unknown_kind_and_a_malformed_entry_are_told_all_the_same() -> None:
    one, two = _found(drift=[{"kind": "odd", "subject": "s", "intended": "", "observed": ""}, "nonsense"])
    assert (one.kind, one.subject) == (Kind.TASK, "s")
    assert (two.kind, two.subject) == (Kind.TASK, "nonsense")


def test_a_terminal_obeys_nothing_of_a_host() -> None:
    one = _file("a\x1b[2Jb" + "x" * 500 + "\n", "c\n")
    assert "\x1b" not in one.observed
    assert len(one.observed) == 160


def _report(*drift: Difference, **hosts: Status) -> DriftReport:
    return DriftReport(
        cluster="t",
        plan_sha256="p",
        started="",
        seconds=1.0,
        interrupted=False,
        problem=None,
        drift=drift,
        hosts={name: HostState(status=status) for name, status in hosts.items()},
    )


def test_drift_is_bad_a_host_not_looked_at_incomplete_and_drift_comes_first() -> None:
    (one,) = _found(changed=True)
    assert _report(a=Status.DONE, b=Status.HELD).exit_code == 0
    assert _report(one, a=Status.DONE).exit_code == 1
    assert _report(a=Status.UNREACHABLE).exit_code == 3
    assert _report(one, a=Status.UNREACHABLE).exit_code == 1
