"""`rackwright up` and its kin by the real engine, against controllers that misbehave as real ones do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from tests.doubles.redfish import Fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.engine.conftest import Site

pytestmark = pytest.mark.engine


def test_up_powers_each_host_on_once_and_a_second_up_changes_nothing(make_site: Callable[..., Site]) -> None:
    site = make_site()
    first = site.stack("up", "--yes")
    assert len(first["changes"]) == 3
    second = site.stack("up", "--yes")
    assert second["changes"] == []
    assert set(second["resources"]) == {"same"}
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)
    assert {host["state"] for host in second["outputs"]["hosts"].values()} == {"on"}


def test_a_host_switched_off_by_hand_shows_in_preview_and_comes_back_with_up(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    site.run("up", "--yes")
    site.hall.bmcs["node-002"].power = "Off"
    assert site.stack("preview")["changes"] == ["node-002: power off -> on"]
    assert site.hall.bmcs["node-002"].power == "Off"
    site.run("up", "--yes")
    assert site.hall.bmcs["node-002"].power == "On"
    assert site.hall.asked("On") == {"node-001": 1, "node-002": 2, "node-003": 1}
    assert site.stack("preview")["changes"] == []


def test_a_host_in_maintenance_is_held_and_not_spoken_to(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.held = {"node-003"}
    site.plan()
    answer = site.stack("up", "--yes")
    assert list(answer["held"]) == ["node-003"]
    assert not site.hall.bmcs["node-003"].asked
    assert site.hall.bmcs["node-003"].power == "Off"
    assert "node-003: held" in site.run("up", "--yes").stdout
    site.held = set()
    site.plan()
    site.run("up", "--yes")
    assert site.hall.bmcs["node-003"].power == "On"


def test_another_machine_in_a_slot_is_left_alone_and_the_others_come_up(
    make_site: Callable[..., Site],
) -> None:
    site = make_site()
    site.serials = {"node-002": "S99999"}
    site.plan()
    answer = site.stack("up", "--yes", code=2)
    assert [failure["subject"] for failure in answer["failures"]] == ["node-002"]
    assert "S99999" in answer["failures"][0]["cause"]
    assert "S00002" in answer["failures"][0]["cause"]
    assert site.hall.asked("On") == {"node-001": 1, "node-002": 0, "node-003": 1}
    assert not site.hall.bmcs["node-002"].asked["PATCH"]
    site.serials = {}
    site.plan()
    assert site.stack("up", "--yes")["changes"] == ["node-002: power unknown -> on"]
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


@pytest.mark.parametrize("fault", [Fault.DEAF, Fault.MUTE, Fault.FOREIGN, Fault.CLOSED])
def test_a_controller_that_cannot_be_used_is_named_and_stops_nobody(
    make_site: Callable[..., Site], fault: Fault
) -> None:
    site = make_site()
    site.hall.bmcs["node-001"].fault = fault
    answer = site.stack("up", "--yes", code=2)
    assert [failure["subject"] for failure in answer["failures"]] == ["node-001"]
    assert answer["failures"][0]["cause"]
    assert site.hall.asked("On") == {"node-001": 0, "node-002": 1, "node-003": 1}
    site.hall.bmcs["node-001"].fault = None
    site.run("up", "--yes")
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


def test_a_wrong_password_is_named_without_being_told(make_site: Callable[..., Site]) -> None:
    site = make_site(passwords="canary-password")
    site.hall.bmcs["node-003"].password = "another"  # noqa: S105 (the double's)
    done = site.run("up", "--yes", code=2)
    assert "node-003" in done.stderr
    assert "canary-password" not in done.stderr + done.stdout
    assert site.hall.asked("On") == {"node-001": 1, "node-002": 1, "node-003": 0}


def test_destroy_forgets_and_powers_nothing_off(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.run("up", "--yes")
    site.run("destroy", "--yes")
    assert {bmc.power for bmc in site.hall.bmcs.values()} == {"On"}
    assert site.hall.asked("ForceOff") == dict.fromkeys(site.hall.bmcs, 0)
    site.run("up", "--yes")
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


def _engines(site: Site) -> list[int]:
    """Processes of `pulumi up` that work on this site."""
    processes = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [int(process.name) for process in processes if _is_engine_of(process, site)]


def _is_engine_of(process: Path, site: Site) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(b"/pulumi") and b"up" in words and f"{site.name}-hall".encode() in words


def _wait(condition: Callable[[], object], what: str) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.05)


@pytest.mark.parametrize("cut", [signal.SIGKILL, signal.SIGINT])
def test_up_that_was_cut_off_goes_on_and_boots_no_host_twice(
    make_site: Callable[..., Site], cut: signal.Signals
) -> None:
    site = make_site(6)
    for slot in ("node-004", "node-005", "node-006"):
        site.hall.bmcs[slot].answer_delay_s = 1
    up = site.start("up", "--yes")
    _wait(lambda: sum(site.hall.asked("On").values()) >= 3, "no host was powered on")
    victims = _engines(site) if cut is signal.SIGKILL else [up.pid]
    assert victims
    for victim in victims:
        os.kill(victim, cut)
    said, _ = up.communicate(timeout=120)
    assert up.returncode == (2 if cut is signal.SIGKILL else 130), said
    for bmc in site.hall.bmcs.values():
        bmc.answer_delay_s = 0
    site.run("up", "--yes")
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)
    assert site.stack("preview")["changes"] == []


def test_a_second_up_says_who_is_at_work(make_site: Callable[..., Site]) -> None:
    site = make_site()
    for bmc in site.hall.bmcs.values():
        bmc.answer_delay_s = 1
    first = site.start("up", "--yes")
    _wait(lambda: any(bmc.asked["GET"] for bmc in site.hall.bmcs.values()), "the first up did not begin")
    second = site.run("up", "--yes", code=2)
    assert "UP003" in second.stderr
    assert f"process {_engines(site)[0]} of" in second.stderr
    first.communicate(timeout=120)
    assert first.returncode == 0
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


def test_plain_pulumi_works_in_the_stack_folder(make_site: Callable[..., Site]) -> None:
    site = make_site()
    site.run("stacks", "init")
    script = 'eval "$(rackwright env "$1")" && cd "$2" && shift 2 && pulumi "$@"'

    def pulumi(*words: str) -> str:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            [
                "bash",
                "-ec",
                script,
                "-",
                str(site.spec),
                str(paths.repository() / "stacks" / "onprem"),
                *words,
            ],
            env={**site.environment, "PATH": path},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    stack = ("--stack", f"{site.name}-hall", "--non-interactive")
    assert "HostSet" in pulumi("preview", *stack)
    assert {bmc.power for bmc in site.hall.bmcs.values()} == {"Off"}
    pulumi("up", "--yes", *stack)
    assert {bmc.power for bmc in site.hall.bmcs.values()} == {"On"}
    pulumi("preview", "--expect-no-changes", *stack)
    pulumi("refresh", "--yes", *stack)
    pulumi("destroy", "--yes", *stack)
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)


def test_up_refuses_a_spec_that_was_not_planned(make_site: Callable[..., Site]) -> None:
    site = make_site()
    text = site.spec.read_text()
    site.spec.write_text(text.replace('"static": 3', '"static": 3, "retired": [3]'))
    assert "PLAN001" in site.run("up", "--yes", code=1).stderr
    site.spec.write_text(text)
    saved = site.folder / "saved.json"
    saved.write_text((site.state / "plan.json").read_text())
    site.held = {"node-001"}
    site.write()
    done = site.run("up", "--yes", "--plan", str(saved), code=1)
    assert "assets" in done.stderr
    assert not any(bmc.asked for bmc in site.hall.bmcs.values())


def test_up_asks_first_and_only_a_terminal_can_answer(make_site: Callable[..., Site]) -> None:
    site = make_site()
    done = subprocess.run(
        site.command("up"),
        env=site.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--yes" in done.stderr
    assert not any(bmc.asked for bmc in site.hall.bmcs.values())


def test_parts_that_nothing_can_build_yet_are_named_and_nothing_is_made(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("rackwright")
    spec = paths.repository() / "clusters" / "hybrid.yaml"
    done = subprocess.run(
        [str(script), "up", str(spec), "--yes"],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "sites.use2" in done.stderr
    assert not list(tmp_path.iterdir())


def test_resources_grow_with_host_sets_and_not_with_hosts(make_site: Callable[..., Site]) -> None:
    big = make_site(256)
    answer = big.stack("up", "--yes")
    assert sum(answer["resources"].values()) <= 256 // 32 + 20
    assert big.hall.asked("On") == dict.fromkeys(big.hall.bmcs, 1)
