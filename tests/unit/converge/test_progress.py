"""How far a run is, and how long it still takes: from the run before, or from who is done."""

from __future__ import annotations

import pytest

from rackwright.converge.model import Counts, Status
from rackwright.converge.progress import Estimate, Plain
from rackwright.converge.shards import Shard
from rackwright.converge.tally import HostTally, Tally

HOSTS = ("a", "b")


def _tally(**done: int) -> Tally:
    counts = dict.fromkeys(Counts.model_fields, 0)
    return Tally(hosts={name: HostTally("rack", counts | {"ok": tasks}) for name, tasks in done.items()})


def test_nothing_is_said_of_the_time_while_nobody_knows_what_there_is_to_do() -> None:
    estimate = Estimate(_tally(a=3), {}, HOSTS)
    assert estimate.text() == "3 tasks"
    assert estimate.seconds_left() is None


def test_the_run_before_tells_what_there_is_to_do() -> None:
    estimate = Estimate(_tally(a=5, b=0), {"a": 10, "b": 10}, HOSTS, begun=100.0)
    assert (estimate.done(), estimate.total()) == (5, 20)
    assert estimate.seconds_left(now=110.0) == pytest.approx(30.0)


def test_without_one_the_first_hosts_that_are_done_tell() -> None:
    tally = _tally(a=8, b=2)
    tally.hosts["a"].status = Status.DONE
    estimate = Estimate(tally, {}, HOSTS, begun=0.0)
    assert (estimate.done(), estimate.total()) == (10, 16)
    assert estimate.seconds_left(now=10.0) == pytest.approx(6.0)


def test_a_host_that_failed_has_nothing_left_to_do() -> None:
    tally = _tally(a=8, b=2)
    tally.hosts["b"].status = Status.FAILED
    assert Estimate(tally, {"a": 8, "b": 8}, HOSTS).total() == 10


def test_where_there_is_no_terminal_a_shard_is_a_line() -> None:
    told: list[str] = []
    Plain(Estimate(_tally(), {}, HOSTS), told.append).begin(Shard("rack", HOSTS))
    assert told == ["rack: 2 hosts"]
