"""Files are replaced in one step, by one mechanism: `canonical.write_atomic`.

Every other way to write a file of the package is listed here with the reason why it may stay.
"""

from __future__ import annotations

import ast
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[2]
STREAM, LOG = "grows while a process writes it", "a log, of which any part is good"
KERNEL, THROWN_AWAY = "a file of the kernel's", "read once by a program of that run, never again"
MAY: dict[str, str] = {
    "burst/bundle.py": "in memory",
    "burst/configure.py": LOG,
    "canonical.py": "the mechanism itself",
    "converge/record.py": f"{STREAM}; takes its name when it is whole",
    "converge/stop_pipe.py": "a pipe",
    "lab/aws/journal.py": f"{STREAM}, a whole line at a time",
    "lab/cgroups.py": KERNEL,
    "lab/disks.py": "a disk; takes its name when it is whole",
    "lab/faults/hardware.py": KERNEL,
    "lab/processes.py": "whose a lock is; the kernel keeps what counts",
    "lab/rootfs.py": "as the mechanism, below a root whose links are not followed",
    "lab/supervisor.py": LOG,
    "locks.py": "whose a lock is; the kernel keeps what counts",
    "validate/course.py": f"{STREAM}; counts once its hash is kept",
    "validate/fabric/prove.py": THROWN_AWAY,
    "validate/fabric/simulation.py": THROWN_AWAY,
}
WRITERS = {"write_text", "write_bytes", "copyfile", "copy", "copy2", "NamedTemporaryFile", "mkstemp"}
MODULES_OF_COPY = {"shutil", "Path"}


def writes(node: ast.Call) -> bool:
    """Whether a call writes a file, as far as its text says."""
    if isinstance(node.func, ast.Attribute):
        name, of = node.func.attr, node.func.value
    elif isinstance(node.func, ast.Name):
        name, of = node.func.id, node.func
    else:
        return False
    if name in {"copy", "copy2", "copyfile"}:
        return isinstance(of, ast.Name) and of.id == "shutil"
    if name in {"write", "pwrite"}:
        return isinstance(of, ast.Name) and of.id == "os"
    if name in {"open", "fdopen", "NamedTemporaryFile"}:
        return any(_is_mode(argument) for argument in [*node.args, *(key.value for key in node.keywords)])
    return name in WRITERS


def _is_mode(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and len(node.value) <= len("rb+")
        and bool(set("wax+") & set(node.value))
        and set(node.value) <= set("rwaxbt+")
    )


def writers(root: Path) -> Iterator[str]:
    """Modules of a package that write files by themselves."""
    for module in sorted(root.rglob("*.py")):
        calls = (node for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Call))
        if any(map(writes, calls)):
            yield module.relative_to(root).as_posix()


def test_nothing_but_what_is_listed_writes_files_by_itself() -> None:
    assert list(writers(REPOSITORY / "rackwright")) == sorted(MAY)


@pytest.mark.parametrize(
    "text",
    [
        'Path("a").write_text("b")',
        "path.write_bytes(raw)",
        'path.open("wb")',
        'open(path, "a")',
        'path.open(mode="w", encoding="utf-8")',
        'os.fdopen(handle, "r+")',
        "os.write(handle, raw)",
        "os.pwrite(handle, raw, 0)",
        "shutil.copyfile(one, other)",
    ],
)
def test_a_writer_of_each_kind_is_seen(text: str, tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text(text)
    assert list(writers(tmp_path)) == ["new.py"]


@pytest.mark.parametrize("text", ["path.open()", 'path.open("rb")', "values.copy()", "file.write(raw)"])
def test_a_reader_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text(text)
    assert list(writers(tmp_path)) == []


_WRITER = """
import itertools, sys
from pathlib import Path
from rackwright import canonical
path = Path(sys.argv[1])
for number in itertools.count():
    canonical.write_atomic(path, f"{number}\\n" * 20000)
    print(number, flush=True)
"""


def test_a_writer_that_is_killed_anywhere_leaves_one_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    for delay in (0.0, 0.001, 0.003, 0.005, 0.008, 0.013, 0.021, 0.034):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(file)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            written = int(next(itertools.islice(writer.stdout, 2, None)))
            time.sleep(delay)
            os.kill(writer.pid, signal.SIGKILL)
            written += sum(1 for _ in writer.stdout)
        lines = file.read_text().splitlines()
        assert len(lines) == 20000
        assert len(set(lines)) == 1
        assert int(lines[0]) >= written
