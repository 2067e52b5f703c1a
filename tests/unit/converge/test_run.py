"""What a run tells its runners to do, and makes of how they end; the runners are imitated."""

from __future__ import annotations

import errno
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from rackwright.converge import shard_run
from rackwright.converge.run import Asked, converge
from rackwright.converge.shard_run import Ending, Settings
from rackwright.converge.shards import Phase, Shard
from rackwright.converge.stop_pipe import END, NOW, Listener
from tests.doubles.small_disk import small_disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.converge.model import ConvergeReport

WITHIN_S = 60
KILLED = 256 - signal.SIGKILL


def _run(folder: Path, monkeypatch: pytest.MonkeyPatch, runner: Callable[[Listener], int]) -> ConvergeReport:
    """Run one shard through a runner that is told by its pipe, and returns its exit status."""

    def through(shard: Shard, settings: Settings, ident: str, on_event: object) -> Ending:
        del ident, on_event
        status = runner(Listener(settings.place(shard) / "stop"))
        return Ending(status, out_of_hosts=False, said="", seconds=1.0)

    monkeypatch.setattr(shard_run, "run", through)
    settings = Settings(
        folder=folder,
        runners=folder / "runners.lock",
        inventory=folder,
        playbook=folder / "site.yml",
        tags=(),
        check=False,
        forks=1,
        variables={},
    )
    phases = [Phase("racks", (Shard("r1", ("n1", "n2")),))]
    return converge(Asked("atlas", "0" * 64, phases, {}), settings, lambda _: None, quiet=True)


def _press(times: int, listener: Listener) -> int:
    """Ctrl-C, and what the runner hears of it."""
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
    until = time.monotonic() + WITHIN_S
    while listener.asked() < min(times, NOW):
        assert time.monotonic() < until
        time.sleep(0.01)
    return listener.asked()


def test_runners_that_were_killed_on_demand_are_no_fault_of_the_playbook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []

    def runner(listener: Listener) -> int:
        heard.append(_press(2, listener))
        return KILLED

    report = _run(tmp_path, monkeypatch, runner)
    assert heard == [NOW]
    assert (report.interrupted, report.problem) == (True, None)
    assert report.shards["r1"].stopped == "the run was stopped"


def test_a_runner_that_was_killed_by_somebody_else_is_a_problem_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = _run(tmp_path, monkeypatch, lambda _: KILLED)
    assert report.problem is not None
    assert report.problem.message == "ansible-playbook ended with status 247"


def test_ctrl_c_is_heard_though_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []
    with small_disk(tmp_path, kib=64) as disk:

        def runner(listener: Listener) -> int:
            disk.fill()
            heard.append(_press(1, listener))
            heard.append(_press(2, listener))
            return shard_run.STOPPED

        with pytest.raises(OSError, match="No space left"):
            _run(tmp_path, monkeypatch, runner)
    assert heard == [END, NOW]


def test_a_runner_that_nobody_hears_any_more_begins_no_further_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listeners: list[Listener] = []

    def runner(listener: Listener) -> int:
        listeners.append(listener)
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        _run(tmp_path, monkeypatch, runner)
    assert listeners[0].asked() == END
