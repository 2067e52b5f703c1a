"""A comparison tells what is new, what is gone and what has changed, and whose a process is."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import snapshot
from rackwright.lab.processes import Process

if TYPE_CHECKING:
    from rackwright.lab.snapshot import Snapshot


@pytest.fixture(scope="module")
def now() -> Snapshot:
    return snapshot.take()


def _with(now: Snapshot, kind: str, name: str, like: str) -> Snapshot:
    return {**now, kind: {**now[kind], name: like}}


@pytest.mark.parametrize(
    "kind",
    [
        "mount",
        "namespace",
        "link",
        "route",
        "packet filter",
        "loop device",
        "control group",
        "setting",
        "file",
    ],
)
def test_new_gone_and_changed_things_are_told(now: Snapshot, kind: str) -> None:
    planted = _with(now, kind, "planted", "new")
    assert [str(one) for one in snapshot.compare(now, planted)] == [f"{kind} planted: left behind (new)"]
    assert [str(one) for one in snapshot.compare(planted, now)] == [f"{kind} planted: gone (new)"]
    other = _with(now, kind, "planted", "other")
    assert [str(one) for one in snapshot.compare(planted, other)] == [f"{kind} planted: was new, is other"]
    assert snapshot.compare(now, now) == []


def test_all_kinds_are_read_and_what_must_be_there_is(now: Snapshot) -> None:
    assert {kind for kind in now if not now[kind]} <= {
        "namespace", "packet filter", "loop device", "control group",
    }  # fmt: skip
    assert "lo" in now["link"]
    assert any(name.startswith("/ #") for name in now["mount"])
    assert "/etc/passwd" in now["file"]
    assert "net/ipv4/ip_forward" in now["setting"]
    assert not any(name.startswith("net/ipv4/conf/lo/") for name in now["setting"])


def _detached() -> Process:
    """Its parent is gone at once: it is init's now."""
    shell = "sleep 600 </dev/null >/dev/null 2>&1 & echo $!"
    said = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout
    process = Process.of(int(said))
    assert process is not None
    return process


def test_a_process_that_its_maker_forgot_is_left_behind(now: Snapshot) -> None:
    forgotten = _detached()
    try:
        names = [one.name for one in snapshot.compare(now, snapshot.take()) if one.kind == "process"]
        assert f"{forgotten.pid}.{forgotten.started}" in names
    finally:
        forgotten.kill()


def test_a_process_that_somebody_from_before_runs_is_not(now: Snapshot) -> None:
    me = Process.of(os.getpid())
    assert me is not None
    before = _with(now, "process", f"{me.pid}.{me.started}", "this test")
    with subprocess.Popen(["sleep", "600"]) as child:
        names = [one.name for one in snapshot.compare(before, snapshot.take())]
        assert not any(name.startswith(f"{child.pid}.") for name in names)
        child.kill()
