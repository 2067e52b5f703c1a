"""The archive that a controller runs from."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

from rackwright import paths
from rackwright.burst.bundle import archive

if TYPE_CHECKING:
    from pathlib import Path


def _checkout(folder: Path) -> Path:
    for name in ("rackwright/burst/a.py", "rackwright/lab/b.py", "roles/x/c.yml", "tests/d.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "rackwright/burst/__pycache__").mkdir()
    (folder / "rackwright/burst/__pycache__/a.pyc").write_bytes(b"\0")
    return folder


def _names(packed: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        return tar.getnames()


def test_the_same_files_are_the_same_bytes_whenever_they_were_written(tmp_path: Path) -> None:
    first = _checkout(tmp_path / "first")
    second = tmp_path / "second"
    shutil.copytree(first, second)
    os.utime(second / "roles/x/c.yml", (1, 1))
    assert archive(first) == archive(second)
    (second / "roles/x/c.yml").write_text("changed")
    assert archive(first) != archive(second)


def test_it_has_what_a_controller_runs_and_nothing_of_the_lab(tmp_path: Path) -> None:
    assert _names(archive(_checkout(tmp_path))) == ["rackwright/burst/a.py", "roles/x/c.yml"]


def test_the_daemon_imports_nothing_that_was_left_out(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive(paths.repository()))) as tar:
        tar.extractall(tmp_path, filter="data")
    program = (
        "import sys, pathlib, rackwright.burst.__main__, rackwright.burst.check;"
        "assert pathlib.Path(rackwright.burst.__file__).is_relative_to(sys.argv[1]);"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path],
        env={"PYTHONPATH": str(tmp_path), "PATH": os.environ["PATH"]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not {"pulumi", "ansible_runner", "numpy", "click"} & set(done.stdout.split())
