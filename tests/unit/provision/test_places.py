"""Where the engine and its settings are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rackwright import __version__
from rackwright.errors import EnvironmentUnfit
from rackwright.provision.places import Folders, engine, install_plugin


def _engine_in(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in ("pulumi", "pulumi-language-python"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any engine."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_an_engine_on_path_comes_before_the_one_that_set_up_built(nowhere: Path) -> None:
    built = _engine_in(nowhere / "cache" / "rackwright" / "engine" / "current")
    assert engine() == built
    on_path = _engine_in(nowhere / "bin")
    assert engine() == on_path


def test_an_engine_without_its_python_host_is_none(nowhere: Path) -> None:
    (_engine_in(nowhere / "bin") / "pulumi-language-python").unlink()
    with pytest.raises(EnvironmentUnfit) as raised:
        engine()
    assert raised.value.hint == "make setup"


def _launcher(state: Path) -> Path:
    return state / "pulumi" / "plugins" / f"resource-rackwright-v{__version__}" / "pulumi-resource-rackwright"


def test_the_launcher_is_written_once_and_again_for_another_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin(Folders(tmp_path / "my specs", tmp_path))
    launcher = _launcher(tmp_path)
    assert os.access(launcher, os.X_OK)
    first = launcher.stat().st_mtime_ns
    install_plugin(Folders(tmp_path / "my specs", tmp_path))
    assert launcher.stat().st_mtime_ns == first
    monkeypatch.setattr(sys, "executable", "/another/python")
    install_plugin(Folders(tmp_path / "my specs", tmp_path))
    assert "exec /another/python -I" in launcher.read_text()
    install_plugin(Folders(tmp_path / "others", tmp_path))
    assert f"--spec-folder={tmp_path}/others " in launcher.read_text()


def test_a_launcher_that_is_no_text_is_written_anew(tmp_path: Path) -> None:
    folders = Folders(tmp_path, tmp_path)
    install_plugin(folders)
    launcher = _launcher(tmp_path)
    whole = launcher.read_bytes()
    launcher.write_bytes(b"\xff\xfe" + bytes(99))
    install_plugin(folders)
    assert launcher.read_bytes() == whole


def test_the_launcher_starts_the_provider_from_any_folder(tmp_path: Path) -> None:
    install_plugin(Folders(tmp_path / "my specs", tmp_path))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "grpc.py").write_text("raise SystemExit('the project shadowed a library')")
    done = subprocess.run(
        [_launcher(tmp_path), "127.0.0.1:1"], cwd=elsewhere, capture_output=True, text=True, check=False
    )
    assert "ConnectionRefusedError" in done.stderr
    assert "shadowed" not in done.stderr


def test_no_console_script_puts_the_provider_on_path() -> None:
    assert not Path(sys.executable).with_name("pulumi-resource-rackwright").exists()
