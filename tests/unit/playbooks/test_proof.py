"""What a role promises is proven, and all that is wrong is told at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.playbooks.conftest import Library

DPKG = """#!/bin/sh
for name in "$@"; do case $name in munge) echo munge installed ;; half) echo half unpacked ;; esac; done
exit 1
"""


@pytest.fixture(autouse=True)
def dpkg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dpkg-query").write_text(DPKG)
    (tmp_path / "dpkg-query").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def command(*argv: str, expected: str = "^yes$", within_s: float = 0) -> dict[str, object]:
    return {"argv": list(argv), "expected": expected, "hint": "ask for it", "within_s": within_s}


def test_what_holds_is_ok_and_no_change(library: Library) -> None:
    answer = library.run(
        "proof", packages="munge # the daemon\n", commands={"it says so": command("echo", "yes")}
    )
    assert answer["changed"] is False
    assert "failed" not in answer
    assert answer["missing"] == []


def test_missing_packages_are_named_each_with_what_to_do(library: Library) -> None:
    answer = library.run("proof", packages="# of this role\nmunge\nslurmd\nhalf\n")
    assert answer["missing"] == ["slurmd", "half"]
    lines = str(answer["msg"]).splitlines()
    assert lines[0].startswith("package slurmd is not installed; hint: run converge with --tags install")
    assert lines[1].startswith("package half is not installed")


def test_each_fault_says_what_was_got_expected_and_to_do(library: Library) -> None:
    commands = {"good": command("echo", "yes"), "bad": command("echo", "no"), "worse": command("false")}
    answer = library.run("proof", commands=commands)
    assert answer["msg"] == (
        "bad: got no, expected ^yes$; hint: ask for it\n"
        "worse: got exit code 1, expected ^yes$; hint: ask for it"
    )


def test_a_right_word_of_a_program_that_failed_proves_nothing(library: Library) -> None:
    answer = library.run("proof", commands={"both": command("sh", "-c", "echo yes; exit 3")})
    assert answer["failed"] is True


def test_it_waits_for_what_may_take_a_while(library: Library, tmp_path: Path) -> None:
    second = f"test -e {tmp_path}/mark && echo yes; touch {tmp_path}/mark"
    assert "failed" not in library.run("proof", commands={"late": command("sh", "-c", second, within_s=20)})


def test_check_mode_asks_for_packages_only(library: Library) -> None:
    assert "failed" not in library.run("proof", check=True, commands={"bad": command("false")})
    assert library.run("proof", check=True, packages="slurmd")["failed"] is True


def test_where_drift_is_looked_for_all_that_does_not_hold_is_told_and_nothing_fails(library: Library) -> None:
    commands = {"good": command("echo", "yes"), "bad": command("echo", "no")}
    answer = library.run("proof", drift=True, packages="munge\nslurmd\n", commands=commands)
    assert "failed" not in answer
    assert answer["drift"] == [
        {
            "kind": "package",
            "subject": "slurmd",
            "intended": "installed",
            "observed": "not installed",
            "hint": "run converge with --tags install, or renew the image this host was made from",
        },
        {"kind": "state", "subject": "bad", "intended": "^yes$", "observed": "no", "hint": "ask for it"},
    ]
