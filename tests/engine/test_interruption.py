"""`up` cut off in the middle: the same command goes on, and no host is powered on twice."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from rackwright.provision.onprem.reconcile import WORKERS
from rackwright.provision.plan_file import BEGUN_WITH
from tests.doubles.cutting import (
    BOTH_KILLED,
    CTRL_C,
    ENDED,
    ENGINE_KILLED,
    end_language_hosts,
    ended,
    strike,
    wait,
)
from tests.doubles.processes import ENGINE, working_on
from tests.doubles.site import SCRIPT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.doubles.cutting import Cut
    from tests.doubles.site import Site

pytestmark = pytest.mark.engine

MORE_THAN_AT_ONCE = WORKERS + 16
"""Hosts of which some have not begun when the first are powered on."""


def _on(site: Site) -> int:
    return sum(site.hall.asked("On").values())


def _cut_off(site: Site, cut: Cut) -> None:
    """Begin an `up` of slow controllers, and cut it off once hosts are being powered on."""
    site.slow_down(0.3)
    up = site.start("up", "--yes")
    wait(lambda: _on(site), "no host was powered on")
    strike(up, site.state, cut)
    ended(up, site.state, cut)
    assert _on(site) < len(site.hall.bmcs), "it was not cut off in the middle"
    site.slow_down(0)


@pytest.mark.parametrize(
    "cut",
    [
        BOTH_KILLED,
        CTRL_C,
        pytest.param(ENGINE_KILLED, marks=pytest.mark.slow),
        pytest.param(ENDED, marks=pytest.mark.slow),
    ],
    ids=["killed", "Ctrl-C", "engine killed", "ended"],
)
def test_up_that_was_cut_off_goes_on_and_boots_no_host_twice(
    make_site: Callable[..., Site], cut: Cut
) -> None:
    site = make_site(MORE_THAN_AT_ONCE)
    _cut_off(site, cut)
    again = site.run("up", "--yes")
    assert ("that process is gone" in again.stderr) == (cut is BOTH_KILLED)
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)
    assert not site.checkpoint().get("pending_operations")
    assert site.stack("preview")["changes"] == []
    end_language_hosts(site.state)


POINTS: dict[str, Callable[[Site], object]] = {
    "the engine begins": lambda site: working_on(site.state, of=ENGINE),
    "a controller is asked": lambda site: any(bmc.asked["GET"] for bmc in site.hall.bmcs.values()),
    "a host is on": lambda site: _on(site) > 0,
    "half of them are": lambda site: _on(site) * 2 >= FEW,
    "all are, and nobody knows": lambda site: _on(site) == FEW,
}
FEW = 6


@pytest.mark.slow
@pytest.mark.parametrize("cut", [BOTH_KILLED, CTRL_C], ids=["killed", "Ctrl-C"])
@pytest.mark.parametrize("point", POINTS)
def test_up_goes_on_wherever_it_was_cut_off(make_site: Callable[..., Site], point: str, cut: Cut) -> None:
    site = make_site(FEW)
    site.slow_down(0.3)
    up = site.start("up", "--yes")
    wait(lambda: POINTS[point](site), point)
    strike(up, site.state, cut)
    ended(up, site.state, cut)
    site.slow_down(0)
    site.run("up", "--yes")
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)
    assert site.stack("preview")["changes"] == []
    end_language_hosts(site.state)


def test_a_plugin_powers_no_host_on_once_its_engine_is_gone(make_site: Callable[..., Site]) -> None:
    site = make_site(MORE_THAN_AT_ONCE)
    _cut_off(site, BOTH_KILLED)
    time.sleep(1)  # requests that were on their way arrive within the controllers' delay
    there = _on(site)
    time.sleep(1)
    assert _on(site) == there < MORE_THAN_AT_ONCE
    end_language_hosts(site.state)


@pytest.mark.slow
def test_after_a_kill_plain_pulumi_is_told_of_the_lock_and_goes_on(make_site: Callable[..., Site]) -> None:
    site = make_site(MORE_THAN_AT_ONCE)
    _cut_off(site, BOTH_KILLED)
    locked = site.pulumi("up", "--yes")
    assert "currently locked" in locked.stdout + locked.stderr
    assert site.pulumi("cancel", "--yes").returncode == 0
    done = site.pulumi("up", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)
    end_language_hosts(site.state)


def test_a_second_up_says_who_is_at_work(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.slow_down(2)
    first = site.start("up", "--yes")
    wait(lambda: any(bmc.asked["GET"] for bmc in site.hall.bmcs.values()), "the first up did not begin")
    [engine] = working_on(site.state, of=ENGINE)
    os.kill(engine, signal.SIGSTOP)  # however long the second takes, the first is at work
    site.slow_down(0)
    second = site.run("up", "--yes", code=2)
    os.kill(engine, signal.SIGCONT)
    assert "UP003" in second.stderr
    assert f"process {first.pid} of" in second.stderr
    first.communicate(timeout=120)
    assert first.returncode == 0
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


def test_a_program_takes_no_other_plan_than_the_one_its_run_was_begun_with(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    site.run("up", "--yes")
    assert site.pulumi("preview").returncode == 0
    site.environment[BEGUN_WITH] = "0" * 64
    refused = site.pulumi("preview")
    assert refused.returncode != 0
    assert "PLAN003 another command has written another plan" in refused.stdout + refused.stderr


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("", "", marks=pytest.mark.slow),
        pytest.param("encryptionsalt: v1:abc", "PULUMI001", marks=pytest.mark.slow),
        ("config: {", "UP012"),
    ],
)
def test_settings_that_were_cut_off_while_they_were_written(
    make_site: Callable[..., Site], text: str, code: str
) -> None:
    site = make_site()
    site.run("up", "--yes")
    site.settings.write_text(text)
    if code:
        refused = site.run("up", "--yes", code=2).stderr
        assert f"error {code}: " in refused
        assert "Pulumi." in refused
        site.settings.unlink()
    site.run("up", "--yes")
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)
    assert site.stack("preview")["changes"] == []


def _lock(site: Site, pid: int, host: str) -> None:
    """Lock the stack as an engine of that process does."""
    site.run("stacks", "init")
    folder = site.state / "engine" / ".pulumi" / "locks" / "organization" / "onprem" / site.stack_name
    folder.mkdir(parents=True, exist_ok=True)
    lock = {"pid": pid, "username": "ada", "hostname": host, "timestamp": "2026-11-28T04:00:00Z"}
    (folder / "a.json").write_text(json.dumps(lock))


def _refused(site: Site) -> str:
    """The hint of an `up` that is refused because somebody else is at work."""
    said = site.run("up", "--yes", "--format", "json", code=2).stdout
    error = json.loads(said)
    assert error["code"] == "UP003"
    assert "of ada on" in error["got"]
    assert not any(bmc.asked for bmc in site.hall.bmcs.values())
    return str(error["hint"])


def test_a_lock_of_a_process_that_lives_stays(make_site: Callable[..., Site]) -> None:
    site = make_site()
    with _running(["bash", "-c", "exec -a pulumi sleep 600"]) as pid:
        _lock(site, pid, socket.gethostname())
        _refused(site)


def test_a_lock_of_another_machine_is_told_with_the_command_that_ends_it(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    _lock(site, 1, "elsewhere.example")
    command = _refused(site).partition("another machine: ")[2].replace("SPEC", str(site.spec))
    path = f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["bash", "-ec", command], env={**site.environment, "PATH": path}, check=True)
    site.run("up", "--yes")
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


@contextmanager
def _running(command: list[str]) -> Iterator[int]:
    with subprocess.Popen(command) as process:
        time.sleep(0.2)
        yield process.pid
        process.kill()
