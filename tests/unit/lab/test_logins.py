"""Passwords are made at random where there are none, and kept where there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bcrypt
import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import logins
from rackwright.spec.credentials import Login

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.lab.places import Places

SLOTS = ["head-001", "node-001"]
REFERENCE = "state:secrets/bmc.csv"


def _file(places: Places) -> Path:
    return places.state / "secrets" / "bmc.csv"


def test_each_bmc_gets_a_password_of_its_own_for_root_alone(places: Places, tmp_path: Path) -> None:
    places.state.mkdir(parents=True)
    known = logins.logins(REFERENCE, SLOTS, tmp_path, places)
    passwords = {login.password for slot in SLOTS if (login := known.of(slot))}
    assert len(passwords) == 2
    assert min(map(len, passwords)) >= 32
    assert _file(places).stat().st_mode & 0o777 == 0o600
    assert _file(places).parent.stat().st_mode & 0o777 == 0o700


def test_what_is_there_is_used_and_not_written(places: Places, tmp_path: Path) -> None:
    _file(places).parent.mkdir(parents=True)
    _file(places).write_text("slot,user,password\n*,root,canary\n")
    assert logins.logins(REFERENCE, SLOTS, tmp_path, places).of("node-001") == Login("root", "canary")
    assert _file(places).read_text() == "slot,user,password\n*,root,canary\n"


def test_a_slot_without_a_login_is_named_and_no_password_is(places: Places, tmp_path: Path) -> None:
    _file(places).parent.mkdir(parents=True)
    _file(places).write_text("slot,user,password\nhead-001,root,canary\n")
    with pytest.raises(EnvironmentUnfit) as refused:
        logins.logins(REFERENCE, SLOTS, tmp_path, places)
    assert refused.value.got == "no entry for node-001"
    assert "canary" not in repr(vars(refused.value))


def test_an_environment_variable_must_be_there(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EnvironmentUnfit):
        logins.logins("env:LAB_BMCS", SLOTS, tmp_path, places)
    monkeypatch.setenv("LAB_BMCS", "slot,user,password\n*,root,canary")
    assert logins.logins("env:LAB_BMCS", SLOTS, tmp_path, places).of("x") == Login("root", "canary")


def test_a_line_of_the_password_file_holds_the_hash_alone() -> None:
    user, _, digest = logins.hashed(Login("root", "canary")).strip().partition(":")
    assert user == "root"
    assert bcrypt.checkpw(b"canary", digest.encode())
    assert not bcrypt.checkpw(b"Canary", digest.encode())
    assert "canary" not in digest
