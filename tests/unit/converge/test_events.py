"""Ansible-runner's events as it sends them, and what of them is counted."""

from __future__ import annotations

from typing import Any

import pytest

from rackwright.converge.events import Outcome, task_event
from rackwright.converge.model import Reason, ShardReport, Status
from rackwright.converge.shards import Shard
from rackwright.converge.tally import Tally

SHARD = Shard("rack", ("a", "b", "c"))
ENDED = ShardReport(phase="nodes", hosts=3, failed=0, seconds=1.0)


def _raw(kind: str, host: str = "a", action: str = "ansible.builtin.copy", **data: object) -> dict[str, Any]:
    return {
        "event": f"runner_on_{kind}",
        "created": "2026-01-01T00:00:00+00:00",
        "event_data": {
            "host": host,
            "task": "Lay it out",
            "role": "base",
            "resolved_action": action,
            "duration": 0.25,
            "res": {},
            **data,
        },
    }


@pytest.mark.parametrize(
    ("raw", "outcome", "remote"),
    [
        (_raw("ok"), Outcome.OK, True),
        (_raw("ok", res={"changed": True}), Outcome.CHANGED, True),
        (_raw("skipped"), Outcome.SKIPPED, False),
        (_raw("failed", res={"msg": "no"}), Outcome.FAILED, True),
        (_raw("failed", res={"msg": "no"}, ignore_errors=True), Outcome.IGNORED, True),
        (_raw("unreachable", res={"msg": "Broken pipe"}), Outcome.UNREACHABLE, True),
        (_raw("unreachable", res={"msg": "No space left on device"}), Outcome.FAILED, True),
        (_raw("ok", action="ansible.builtin.set_fact"), Outcome.OK, False),
        (_raw("ok", action="ansible.builtin.gather_facts"), Outcome.OK, True),
        (_raw("ok", res={"_ansible_delegated_vars": {"ansible_host": "localhost"}}), Outcome.OK, False),
    ],
)
def test_an_event_of_a_task(raw: dict[str, Any], outcome: Outcome, remote: bool) -> None:  # noqa: FBT001 (a case)
    event = task_event(raw, "rack")
    assert event is not None
    assert (event.outcome, event.remote) == (outcome, remote)
    assert (event.host, event.role, event.task, event.seconds) == ("a", "base", "Lay it out", 0.25)


@pytest.mark.parametrize("kind", ["start", "item_ok", "retry", "file_diff"])
def test_other_events_are_no_task_that_ended(kind: str) -> None:
    assert task_event(_raw(kind), "rack") is None


def test_no_result_passes_into_an_event() -> None:
    event = task_event(_raw("ok", res={"changed": True, "content": "secret", "diff": ["secret"]}), "rack")
    assert event is not None
    assert "secret" not in event.model_dump_json()


def _tally(*raw: dict[str, Any]) -> Tally:
    tally = Tally.of([SHARD])
    for one in raw:
        event = task_event(one, SHARD.name)
        assert event is not None
        tally.add(event)
    return tally


def test_a_host_is_done_when_its_shard_ended_and_no_task_failed_on_it() -> None:
    tally = _tally(_raw("ok"), _raw("skipped"), _raw("ok", "b", res={"changed": True}), _raw("failed", "c"))
    tally.close(SHARD, ENDED)
    reports = {name: host.report() for name, host in tally.hosts.items()}
    assert [reports[name].status for name in "abc"] == [Status.DONE, Status.DONE, Status.FAILED]
    assert reports["a"].tasks.model_dump() == {
        "ok": 1,
        "changed": 0,
        "failed": 0,
        "unreachable": 0,
        "skipped": 1,
        "remote": 1,
    }
    assert reports["b"].tasks.changed == 1
    assert reports["c"].reason == Reason(
        task="base : Lay it out", message="the task failed and gave no reason"
    )


def test_a_host_on_which_nothing_ran_is_not_done() -> None:
    tally = _tally(_raw("ok"), _raw("ok", "b"))
    tally.close(SHARD, ENDED)
    assert tally.hosts["c"].status is Status.NOT_REACHED


def test_hosts_of_a_stopped_shard_are_not_done_whatever_ran_on_them() -> None:
    tally = _tally(_raw("ok"), _raw("failed", "b"))
    tally.close(SHARD, ENDED.model_copy(update={"stopped": "the run was stopped"}))
    assert [tally.hosts[name].status for name in "abc"] == [
        Status.NOT_REACHED,
        Status.FAILED,
        Status.NOT_REACHED,
    ]


def test_a_failure_that_the_playbook_rescued_is_none() -> None:
    tally = _tally(_raw("failed"), _raw("ok"), _raw("failed", "b"))
    tally.take_stats({"processed": {"a": 1, "b": 1}, "failures": {"b": 1}, "dark": {}})
    tally.close(SHARD, ENDED)
    assert tally.hosts["a"].status is Status.DONE
    assert tally.hosts["a"].report().tasks.failed == 0
    assert tally.hosts["b"].status is Status.FAILED


def test_what_fails_on_the_controller_is_the_runs_own_problem() -> None:
    tally = _tally(_raw("failed", "localhost", res={"msg": "no such group"}))
    assert tally.problem is not None
    assert tally.problem.message == "no such group"
    assert "localhost" not in tally.hosts


def test_what_fails_elsewhere_before_any_host_is_spoken_to_is_no_hosts_fault() -> None:
    delegated = {"msg": "no inventory", "_ansible_delegated_vars": {"ansible_host": "localhost"}}
    tally = _tally(_raw("failed", "a", res=delegated))
    assert tally.problem is not None
    assert tally.hosts["a"].status is None
    later = _tally(_raw("ok", "b"), _raw("failed", "a", res=delegated))
    assert later.problem is None
    assert later.hosts["a"].status is Status.FAILED
