"""`lab doctor` says last that the machine will do, whatever it warns of; not where something is missing."""

from __future__ import annotations

import pytest

from rackwright.cli.frame import run
from rackwright.lab import doctor
from rackwright.lack import Lack

VERDICT = "this machine can hold the lab"


def said_of(capsys: pytest.CaptureFixture[str], *found: Lack) -> tuple[int, str]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(doctor, "examine", lambda _: list(found))
        code = run(["lab", "doctor"])
    return code, capsys.readouterr().out


def lack(*, blocks: bool) -> Lack:
    return Lack(code="LAB199", what="a thing", got="less", expected="more", hint="add to it", blocks=blocks)


def test_a_warning_is_said_and_the_machine_will_do(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = said_of(capsys, lack(blocks=False))
    assert code == 0
    assert said.startswith("warning LAB199: a thing\n")
    assert said.endswith(f"\n{VERDICT}\n")


def test_what_is_missing_is_said_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = said_of(capsys, lack(blocks=False), lack(blocks=True))
    assert code == 2
    assert "error LAB199: a thing\n" in said
    assert VERDICT not in said
