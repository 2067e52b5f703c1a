"""`rackwright render`: files with their hashes, from a plan that is current."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.frame import run

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copytree(paths.repository() / "clusters", tmp_path / "clusters")
    return tmp_path / "clusters" / "lab.yaml"


def test_every_file_is_listed_with_its_hash(spec: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert run(["render", str(spec), "--out", str(out), "--format", "json", "-q"]) == 0
    document = json.loads(capsys.readouterr().out)
    listed = {file["path"]: file["sha256"] for file in document["files"]}
    found = {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in out.rglob("*")
        if path.is_file()
    }
    assert listed == found
    assert "boot/node-001/etc/hostname" in listed


def test_the_client_key_is_rendered_once_it_is_there(spec: Path, tmp_path: Path, capsys: Capture) -> None:
    keys = tmp_path / "out" / "boot" / "_hall" / "etc" / "ssh" / "authorized_keys.d" / "rackwright"
    run(["render", str(spec), "--out", str(tmp_path / "out")])
    assert "no client key yet" in capsys.readouterr().err
    assert "ssh-ed25519" not in keys.read_text(encoding="utf-8")
    secrets = paths.secrets("lab")
    secrets.mkdir(parents=True)
    (secrets / "ssh_ed25519.pub").write_text("ssh-ed25519 AAAAkey me\n", encoding="utf-8")
    run(["render", str(spec), "--out", str(tmp_path / "out")])
    assert capsys.readouterr().err == ""
    assert "ssh-ed25519 AAAAkey me" in keys.read_text(encoding="utf-8")


def test_a_spec_that_was_not_planned_is_refused_and_nothing_written(
    spec: Path, tmp_path: Path, capsys: Capture
) -> None:
    lock = spec.with_name("lab.lock.yaml")
    lock.unlink()
    moved = spec.rename(spec.with_name("my lab.yaml"))
    assert run(["render", str(moved), "--out", str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert "PLAN001: the spec never was planned" in err
    assert f"rackwright plan '{moved}'" in err
    assert not (tmp_path / "out").exists()
    assert not lock.exists()
