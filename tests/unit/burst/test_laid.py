"""What converge has laid for a controller, cut or of another release: told in words, and no traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from rackwright import canonical, paths
from rackwright.burst import check, model
from rackwright.cli.cluster import open_cluster

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def laid(tmp_path: Path) -> Path:
    cluster = open_cluster(paths.repository() / "clusters" / "lab-hybrid.yaml")
    (tmp_path / model.PLAN).write_text(canonical.dumps(cluster.plan))
    nothing = {
        "schema": model.SCHEMA,
        "scheduler": "main",
        "grounds": {},
        "authorized_keys": [],
        "controllers": {},
    }
    (tmp_path / model.SETTING).write_text(json.dumps(nothing))
    return tmp_path


def test_what_is_whole_is_read(laid: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main(laid) == 0
    assert capsys.readouterr().out == "EC2 lets this controller in\n"


@pytest.mark.parametrize(("name", "code"), [(model.PLAN, "PLAN002"), (model.SETTING, "BURST002")])
@pytest.mark.parametrize("text", [b'{"schema": ', b"\xff", None], ids=["cut", "no text", "gone"])
def test_a_spoiled_file_is_named_by_the_check(
    laid: Path, capsys: pytest.CaptureFixture[str], name: str, code: str, text: bytes | None
) -> None:
    _spoil(laid / name, text)
    assert check.main(laid) == 2
    said = capsys.readouterr().out
    assert said.startswith(f"{code} {laid / name}: ")
    assert said.endswith("`rackwright converge SPEC` lays it anew\n")


@pytest.mark.parametrize("name", [model.PLAN, model.SETTING])
def test_a_spoiled_file_ends_the_daemon_in_words(laid: Path, name: str) -> None:
    _spoil(laid / name, b"{")
    command = [sys.executable, "-m", "rackwright.burst", str(laid), str(laid / "work"), str(laid / "socket")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 2
    assert str(laid / name) in done.stderr
    assert "Traceback" not in done.stderr


def _spoil(file: Path, text: bytes | None) -> None:
    if text is None:
        file.unlink()
    else:
        file.write_bytes(text)
