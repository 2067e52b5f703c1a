"""What rackwright makes itself: once, for its owner only, and never anew."""

from __future__ import annotations

import secrets
import subprocess
from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.paths import LOGIN_KEY
from rackwright.provision import keys
from rackwright.provision.keys import PASSPHRASE, login_public_key, passphrase_file

if TYPE_CHECKING:
    from pathlib import Path


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_each_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    passphrase, public = passphrase_file(folder).read_text(), login_public_key(folder)
    assert len(passphrase.strip()) >= 32
    assert {_mode(folder / name) for name in (PASSPHRASE, LOGIN_KEY)} == {0o600}
    assert _mode(folder) == 0o700
    assert passphrase_file(folder).read_text() == passphrase
    assert login_public_key(folder) == public


def test_two_clusters_share_nothing(tmp_path: Path) -> None:
    assert login_public_key(tmp_path / "a") != login_public_key(tmp_path / "b")
    assert passphrase_file(tmp_path / "a").read_text() != passphrase_file(tmp_path / "b").read_text()


def test_ssh_takes_the_key_and_its_public_half(tmp_path: Path) -> None:
    public = login_public_key(tmp_path)
    said = subprocess.run(
        ["ssh-keygen", "-y", "-f", tmp_path / LOGIN_KEY], capture_output=True, text=True, check=True
    ).stdout
    assert said.split()[:2] == public.split()[:2]
    assert (tmp_path / f"{LOGIN_KEY}.pub").read_text() == public + "\n"


def test_a_key_that_cannot_be_read_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / LOGIN_KEY).write_text("spoiled")
    with pytest.raises(EnvironmentUnfit, match="login key cannot be read"):
        login_public_key(tmp_path)
    assert (tmp_path / LOGIN_KEY).read_text() == "spoiled"


def test_of_two_who_make_one_at_once_the_first_ones_counts_for_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As two first runs, on stacks of their own: each has seen no file."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    login_public_key(tmp_path)
    theirs = (tmp_path / LOGIN_KEY).read_text()

    def new_key() -> str:
        (folder / LOGIN_KEY).write_text(theirs)
        return "ours"

    def new_passphrase(_: int) -> str:
        (folder / PASSPHRASE).write_text("theirs")
        return "ours"

    monkeypatch.setattr(keys, "_new_key", new_key)
    monkeypatch.setattr(secrets, "token_urlsafe", new_passphrase)
    assert passphrase_file(folder).read_text() == "theirs"
    assert login_public_key(folder) == keys.public_half(folder / LOGIN_KEY)
    assert (folder / LOGIN_KEY).read_text() == theirs
    assert {path.name for path in folder.iterdir()} == {PASSPHRASE, LOGIN_KEY, f"{LOGIN_KEY}.pub"}
