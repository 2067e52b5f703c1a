"""How a stop is told: it is seen by all who look, never taken back, and needs no room on the disk."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from rackwright.converge.stop_pipe import END, NOW, Listener, StopPipe
from tests.doubles.small_disk import small_disk

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_asked_is_seen_by_all_and_never_becomes_less(tmp_path: Path) -> None:
    stop = StopPipe(tmp_path / "stop")
    leash, callback = Listener(tmp_path / "stop"), Listener(tmp_path / "stop")
    assert leash.asked() == 0
    stop.ask()
    stop.ask()
    assert [leash.asked(), leash.asked(), callback.asked()] == [END] * 3
    stop.ask(now=True)
    stop.ask()
    assert leash.asked() == NOW
    stop.close()
    assert Listener(tmp_path / "stop").asked() == NOW, "a runner that comes late is told as well"


@pytest.mark.parametrize("left", ["file", "pipe"])
def test_what_an_earlier_run_was_told_is_forgotten(tmp_path: Path, left: str) -> None:
    if left == "file":
        (tmp_path / "stop").write_text("now")
    else:
        StopPipe(tmp_path / "stop").ask()
    stop = StopPipe(tmp_path / "stop")
    assert Listener(tmp_path / "stop").asked() == 0
    assert stat.S_IMODE((tmp_path / "stop").stat().st_mode) == 0o600
    stop.close()


def test_a_disk_that_is_full_and_read_only_hinders_nobody(tmp_path: Path) -> None:
    with small_disk(tmp_path, kib=64) as disk:
        stop = StopPipe(tmp_path / "stop")
        disk.fill()
        disk.forbid()
        listener = Listener(tmp_path / "stop")
        stop.ask(now=True)
        assert listener.asked() == NOW
        stop.close()
        with pytest.raises(OSError, match="Read-only file system"):
            StopPipe(tmp_path / "stop")
