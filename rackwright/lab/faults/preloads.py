"""A fault that is a library in front of every program of a host that starts from then on."""

from __future__ import annotations

import tempfile
from base64 import b64decode
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar

from rackwright.lab import rootfs
from rackwright.lab.commands import run
from rackwright.lab.faults import subjects
from rackwright.lab.faults.files import FilesFault, put_back
from rackwright.lab.faults.subjects import SubjectKind
from rackwright.lab.rootfs import Content

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.lab.faults.fault import Kept, Planted, Stage

PRELOAD = PurePosixPath("etc/ld.so.preload")
_COMPILE = ("gcc", "-shared", "-fPIC", "-nostdlib", "-O1", "-Wl,--build-id=none", "-s")
_FOLDER = PurePosixPath("usr/local/lib")


class Preload(FilesFault):
    """A library that is compiled here, since the image of the hosts has no compiler."""

    kind = SubjectKind.HOST
    source: ClassVar[str]
    """Name of its source beside this module."""

    @property
    def library(self) -> PurePosixPath:
        """Where it lies on the host."""
        return _FOLDER / f"{self.name}.so"

    def files(self, root: Path) -> Mapping[PurePosixPath, Content]:
        """The library first, then the list that names it: no program ever misses it."""
        before = rootfs.read(root, PRELOAD)
        named = _named(self.library, before.raw if before else b"")
        return {self.library: Content(_compiled(self.source)), PRELOAD: Content(named)}

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Its own line goes, then its library: the list may name other faults, planted before it or since."""
        with stage.hosts.root(subjects.slot_of(planted.subject)) as root:
            for kept in reversed(planted.kept):
                if PurePosixPath(kept.path) == PRELOAD:
                    _unname(root, self.library, kept)
                else:
                    put_back(root, kept)


class WrongValue(Preload):
    """As a processor with a broken multiplier: always the same wrong result, and no message."""

    name = "wrong-value"
    source = "wrong_value.c"
    does = "numpy's matrix products have one bit wrong, always the same"
    shows = "FAIL of that node, by the hash of its result"


class ClockAhead(Preload):
    """A clock that nobody sets: containers share the machine's, so programs are told another time."""

    name = "clock-ahead"
    source = "clock_ahead.c"
    does = "every program that starts sees the clock 60 s ahead"
    shows = "FAIL of that node, by the offset of its clock"


class HungRank(Preload):
    """A rank that never comes out of a collective, as behind a driver that hangs; its node answers."""

    name = "hung-rank"
    source = "hung_rank.c"
    does = "MPI_Allreduce never returns there, and takes no time of the processor"
    shows = "ERROR of the site: its collectives came to no end"


def _named(library: PurePosixPath, before: bytes) -> bytes:
    """A list of libraries with ours at its end, once."""
    return _others(library, before) + f"/{library}\n".encode()


def _others(library: PurePosixPath, before: bytes) -> bytes:
    """A list of libraries without ours."""
    ours = f"/{library}".encode()
    return b"".join(line + b"\n" for line in before.splitlines() if line != ours)


def _unname(root: Path, library: PurePosixPath, kept: Kept) -> None:
    """Take a library off the list: what was before it, to the byte, unless others came or went since."""
    now = rootfs.read(root, PRELOAD)
    others = _others(library, now.raw) if now else b""
    if others.splitlines() == b64decode(kept.base64 or "").splitlines():
        put_back(root, kept)
    elif now and others:
        rootfs.write(root, PRELOAD, replace(now, raw=others))
    else:
        rootfs.remove(root, PRELOAD)


def _compiled(source: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.so"
        run(*_COMPILE, "-o", made, Path(__file__).with_name(source))
        return made.read_bytes()
