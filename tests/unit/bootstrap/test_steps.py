"""Steps are told with their ends and times, and made once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from bootstrap import places, pulumi, steps, venv
from bootstrap.lock import only_run
from bootstrap.outcome import Outcome
from rackwright.errors import EnvironmentUnfit, Interrupted

if TYPE_CHECKING:
    from pathlib import Path


def cached(log: Path) -> Outcome:
    del log
    return Outcome("cached", "all there")


def done(log: Path) -> Outcome:
    log.write_text("worked")
    return Outcome("done")


def test_each_step_is_named_with_its_end_and_its_time(cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    steps.run({"First step": cached, "Second, step": done})
    told = capfd.readouterr().err
    assert re.search(r"setup: First step +cached +\d+\.\d s +all there\n", told)
    assert re.search(r"setup: Second, step +done +\d+\.\d s\n", told)
    assert re.search(r"setup: ready, \d+\.\d s in all\n", told)
    assert (cache / "log" / "second-step.log").read_text() == "worked"


def test_a_run_without_work_says_so(cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cache.exists()
    steps.run({"First": cached})
    assert "setup: nothing to do" in capfd.readouterr().err


def test_who_has_all_waits_for_nobody(
    cache: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "FOUND", {done: lambda: Outcome("cached", "all there")})
    with only_run(cache / "setup.lock", lambda _: None):
        steps.run({"First": done})
    told = capfd.readouterr().err
    assert re.search(r"First +cached .*all there\nsetup: nothing to do", told)
    assert "another set-up" not in told
    assert not (cache / "log").exists(), "the log is that of whoever works"


def test_each_step_tells_before_its_lock_whether_it_has_anything_to_do() -> None:
    every = [*steps.ALL.values(), *steps.FOR_TESTS.values(), *steps.FOR_KERNEL_TESTS.values()]
    assert [step for step in every if step not in steps.FOUND] == []


def test_an_environment_is_locked_by_its_own_checkout(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = venv.lock()
    monkeypatch.setattr(places, "REPOSITORY", tmp_path / "another")
    assert venv.lock() != first
    assert first.parent == venv.lock().parent == cache


def test_quietly_only_work_is_told(cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cache.exists()
    steps.run({"First": cached, "Second": done}, quiet=True)
    told = capfd.readouterr().err
    assert "First" not in told
    assert "Second" in told


def test_quietly_what_could_not_be_brought_is_told(cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cache.exists()
    steps.run({"First": lambda _: Outcome("not run", "no such package")}, quiet=True)
    assert re.search(r"setup: First +not run .*no such package", capfd.readouterr().err)


def test_an_interrupt_names_its_step(cache: Path) -> None:
    def interrupt(log: Path) -> Outcome:
        del log
        raise KeyboardInterrupt

    assert cache.exists()
    with pytest.raises(Interrupted, match="'Second'") as caught:
        steps.run({"First": done, "Second": interrupt})
    assert caught.value.exit_code == 130


def test_a_cache_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(EnvironmentUnfit) as caught:
        steps.run({"First": cached})
    assert caught.value.where == str(tmp_path / "file" / "rackwright")
    assert caught.value.got == "Not a directory"


def test_go_is_not_got_when_pulumi_needs_no_building(
    cache: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache.exists()
    monkeypatch.setattr(pulumi, "present", lambda: True)
    assert steps.ALL["Go"](log).word == "not needed"


def test_checks_need_the_environment_only() -> None:
    assert set(steps.ENVIRONMENT) == {"Python environment"}
    assert list(steps.ALL)[:2] == ["Debian packages", "Python environment"]
