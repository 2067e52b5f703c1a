"""A host that calculates wrong: a library of its own in front of BLAS changes one bit of a product."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rackwright.lab import rootfs
from rackwright.lab.commands import run
from rackwright.lab.faults.files import FilesFault
from rackwright.lab.faults.subjects import SubjectKind
from rackwright.lab.rootfs import Content

if TYPE_CHECKING:
    from collections.abc import Mapping

SOURCE = Path(__file__).with_name("wrong_value.c")
LIBRARY = PurePosixPath("usr/local/lib/wrong-value.so")
PRELOAD = PurePosixPath("etc/ld.so.preload")
_COMPILE = ("gcc", "-shared", "-fPIC", "-nostdlib", "-O1", "-Wl,--build-id=none", "-s")


class WrongValue(FilesFault):
    """As a processor with a broken multiplier: always the same wrong result, and no message."""

    name = "wrong-value"
    kind = SubjectKind.HOST
    does = "numpy's matrix products have one bit wrong, always the same"
    shows = "FAIL of that node, by the hash of its result"

    def files(self, root: Path) -> Mapping[PurePosixPath, Content]:
        """The library first, then the list that names it: no program ever misses it."""
        before = rootfs.read(root, PRELOAD)
        return {LIBRARY: Content(_library()), PRELOAD: Content(_named(before.raw if before else b""))}


def _named(before: bytes) -> bytes:
    """A list of libraries with ours at its end, once."""
    ours = f"/{LIBRARY}".encode()
    lines = [line for line in before.splitlines() if line != ours]
    return b"".join(line + b"\n" for line in (*lines, ours))


def _library() -> bytes:
    """Compiled here: the image of the hosts has no compiler."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / LIBRARY.name
        run(*_COMPILE, "-o", made, SOURCE)
        return made.read_bytes()
