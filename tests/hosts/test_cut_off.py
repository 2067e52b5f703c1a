"""`lab up` and `lab down` are cut off anywhere, or the machine is: the same command again goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import parts, processes
from rackwright.lab.commands import run
from rackwright.lab.netns import Namespace
from rackwright.lab.places import NETNS
from rackwright.lab.processes import Process
from rackwright.lab.protocol import Request, Verb, ask
from tests.hosts.lab import WITHIN_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from _pytest.mark import ParameterSet

    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab


def seldom(*moments: Callable[[Lab], bool]) -> list[ParameterSet]:
    """Moments of `make test-slow`; those of `make test` are the first, one in the middle and the last."""
    return [pytest.param(moment, marks=pytest.mark.slow) for moment in moments]


def _world(lab: Lab) -> bool:
    return lab.places.world.exists()


def _logins(lab: Lab) -> bool:
    return (lab.places.state / "secrets" / "bmc.csv").exists()


def _daemon(lab: Lab) -> bool:
    return lab.places.socket.exists()


def _router(lab: Lab) -> bool:
    return Namespace(lab.places.netns("router")).exists


def _leg(lab: Lab) -> bool:
    return bool(list(parts.links(lab.places)))


def _last_host(lab: Lab) -> bool:
    return Namespace(lab.places.netns("node-001")).exists


def _first_bmc(lab: Lab) -> bool:
    return lab.places.bmc_pid("head-001").exists()


@pytest.mark.parametrize("moment", [*seldom(_world, _daemon, _leg, _last_host), _logins, _router, _first_bmc])
def test_an_up_that_is_killed_with_its_daemon_anywhere_goes_on(
    small_lab: Lab, moment: Callable[[Lab], bool]
) -> None:
    command = _start(small_lab, "lab", "up", str(small_lab.spec))
    _until(lambda: moment(small_lab), command)
    command.kill()
    command.wait()
    for part in list(parts.own_processes(small_lab.places)):
        assert part.process is not None
        if part.module.endswith("labd"):
            part.process.kill()
    assert small_lab.up()["made"] != []
    again = small_lab.up()
    assert (again["made"], again["cleared"]) == ([], [])
    assert small_lab.power("node-001") == "Off"
    assert sorted(_ours(small_lab)) == ["rackwright.lab.bmc"] * 2 + ["rackwright.lab.labd"]


def test_an_interrupted_up_says_so_and_goes_on(small_lab: Lab) -> None:
    command = _start(small_lab, "lab", "up", str(small_lab.spec))
    _until(lambda: _daemon(small_lab), command)
    command.send_signal(signal.SIGINT)
    assert command.wait() == 130
    small_lab.up()
    assert small_lab.states() == {"head-001": "off", "node-001": "off"}


def test_an_up_leaves_a_host_to_labd_that_is_switching_it_on(small_lab: Lab) -> None:
    small_lab.up()
    with _start(small_lab, "lab", "up", str(small_lab.spec)) as command:
        while command.poll() is None:  # a supervisor that is killed has no word for labd, which says LAB007
            ask(small_lab.places.socket, Request(Verb.RESET, "node-001"))
    assert command.returncode == 0
    assert small_lab.power("node-001") == "On"


def _no_process(lab: Lab) -> bool:
    return not list(parts.own_processes(lab.places))


def _no_link(lab: Lab) -> bool:
    return not list(parts.links(lab.places))


def _no_namespace(lab: Lab) -> bool:
    return not list(parts.namespaces(lab.places))


def _no_run_folder(lab: Lab) -> bool:
    return not lab.places.run.exists()


def _no_disk(lab: Lab) -> bool:
    return not lab.places.disk("node-001").exists()


@pytest.mark.parametrize("moment", [*seldom(_no_link, _no_namespace, _no_run_folder), _no_process, _no_disk])
def test_a_down_that_is_killed_anywhere_goes_on(small_lab: Lab, moment: Callable[[Lab], bool]) -> None:
    small_lab.up()
    small_lab.reset("node-001", "On")
    command = _start(small_lab, "lab", "down", small_lab.name)
    _until(lambda: moment(small_lab), command)
    command.kill()
    command.wait()
    small_lab.down()
    assert parts.find(small_lab.places) == []
    assert not small_lab.places.state.exists()


def _start(lab: Lab, *words: str) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen(lab.command(*words), env=lab.environment, stdout=null, stderr=null)


def _until(condition: Callable[[], bool], command: subprocess.Popen[bytes]) -> None:
    while not condition():
        assert command.poll() is None or condition()
        time.sleep(0.002)


def _ours(lab: Lab) -> list[str]:
    return [part.module for part in parts.own_processes(lab.places)]


def _crash(lab: Lab) -> None:
    """What a crash of the machine leaves, as near as a running one can come to it.

    Every process dies at once; pid files name whoever got those ids since; namespaces are plain
    files; a disk is still attached and mounted.
    """
    found = [part.process for part in parts.own_processes(lab.places) if part.process]
    for process in found:
        process.kill()
    assert processes.wait_gone(found, WITHIN_S) == []
    for part in list(parts.links(lab.places)):
        run("ip", "link", "del", part.name)
    for part in list(parts.namespaces(lab.places)):
        run("ip", "netns", "del", part.name)
        (NETNS / part.name).touch()
    me = Process.of(os.getpid())
    assert me is not None
    for file in lab.places.run.glob("*.pid"):
        file.write_text(json.dumps({"pid": me.pid, "started": me.started - 1, "boot": me.boot}))
    mount = lab.places.mounts("node-001") / "disk"
    mount.mkdir(parents=True, exist_ok=True)
    run("mount", "-o", "loop", lab.places.disk("node-001"), mount)
    run("losetup", "--find", lab.places.disk("head-001"))
    lab.places.disk("node-001").with_suffix(".new").write_text("cut off")


def test_a_crash_is_found_and_cleared_by_the_next_up(small_lab: Lab) -> None:
    small_lab.up()
    small_lab.rackwright("plan", str(small_lab.spec))
    small_lab.prepare()
    small_lab.boot("node-001")
    key = small_lab.host_key("node-001")
    _crash(small_lab)
    faults = small_lab.json("lab", "doctor", str(small_lab.spec))["missing"]
    assert isinstance(faults, list)
    assert {fault["code"] for fault in faults} == {"LAB113"}
    assert f"lab {small_lab.name} was cut off" in [fault["what"] for fault in faults]

    again = small_lab.up()
    cleared = again["cleared"]
    assert isinstance(cleared, list)
    for what in ("mount ", "loop device ", "namespace ", "labd.sock", "host.node-001.pid", "node-001.new"):
        assert any(what in line for line in cleared), (what, cleared)
    assert small_lab.states() == {"head-001": "off", "node-001": "off"}
    small_lab.boot("node-001")
    assert small_lab.host_key("node-001") == key


def test_a_crash_is_found_and_cleared_by_a_down(small_lab: Lab) -> None:
    small_lab.up()
    small_lab.reset("node-001", "On")
    _crash(small_lab)
    small_lab.down()
    assert parts.find(small_lab.places) == []


@contextmanager
def _mounted_elsewhere(disk: Path, seconds: float) -> Iterator[None]:
    """A disk that the kernel frees late, as where a host has written much: a mount of nobody's has it."""
    run("truncate", "--size", "16M", disk)
    run("mkfs.ext4", "-q", disk)
    script = 'mount -o loop "$0" /mnt && echo mounted && exec sleep "$1"'
    words = ["unshare", "--mount", "sh", "-c", script, str(disk), str(seconds)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holding:
        assert holding.stdout is not None
        assert holding.stdout.readline() == "mounted\n"
        yield


def test_a_disk_that_is_freed_late_is_waited_for(small_lab: Lab) -> None:
    disk = small_lab.places.disk("node-001")
    disk.parent.mkdir(parents=True)
    with _mounted_elsewhere(disk, 9):
        assert [part.kind for part in parts.loops(small_lab.places)] == [parts.Kind.LOOP]
        small_lab.down()
    assert parts.find(small_lab.places) == []
