"""A run that was cut off in, the same run ready to go on out: what is complete in it is not made again.

A step is complete once it stands in `run.json`. Nodes that were held or lost before the run was cut
off stay so: a run says one thing of a node.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from shlex import quote
from typing import TYPE_CHECKING

from rackwright import locks
from rackwright.errors import EvidenceSpoiled, UsageError
from rackwright.validate import evidence
from rackwright.validate.evidence import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.validate.model import Run

_SAME = (
    "cluster",
    "suite",
    "suite_sha256",
    "plan_sha256",
    "sites",
    "checks",
    "not_applicable",
    "not_declared",
)
"""Fields without which two halves are of two different runs."""


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a run's folder; the kernel lets go of it when its holder ends.

    Raises:
        UsageError: it is not there, or a validation is at work in it.
        EnvironmentUnfit: its file system keeps no locks.
    """
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _not_there(folder) from None
    try:
        _take(handle, folder)
        yield
    finally:
        os.close(handle)


def _not_there(folder: Path) -> UsageError:
    return UsageError(
        "there is no such folder",
        code="RUN001",
        where=str(folder),
        got="nothing",
        expected="a run that was cut off",
        hint=f"`--out {quote(str(folder))}` begins one there",
    )


def refuse_unbegun(folder: Path) -> None:
    """Refuse to go on with what is no run, before anything else is asked.

    Raises:
        UsageError: nothing of a run is there; one that was cut off in its first moments may be begun anew.
        EvidenceSpoiled: it is not as it was written.
    """
    if not folder.exists():
        raise _not_there(folder)
    if folder.is_dir() and not (folder / evidence.RUN).exists():
        raise UsageError(
            "there is nothing of a run in this folder",
            code="RUN001",
            where=str(folder),
            got=f"no {evidence.RUN}",
            expected="a run that was cut off after it had begun",
            hint=f"`--out {quote(str(folder))}` instead of --resume begins it anew",
        )
    evidence.load(folder)


def _take(handle: int, folder: Path) -> None:
    if not locks.taken(handle, folder):
        raise UsageError(
            "a validation is at work in this folder",
            code="VAL008",
            where=str(folder),
            got="a folder that another process holds",
            expected="a run that was cut off",
            hint=f"wait for it; `fuser {quote(str(folder))}` says which process it is",
        )


def _is_held(folder: Path) -> bool:
    """Whether a validation is at work in a folder."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return locks.is_held(handle, folder)
    finally:
        os.close(handle)


def taken_up(folder: Path, wanted: Run, now: str) -> Evidence:
    """The run of a folder, to go on with.

    Args:
        folder: of the run.
        wanted: the run that would be begun.
        now: RFC 3339, UTC.

    Raises:
        UsageError: it is no run, has come to its end, or is a run of something else.
        EvidenceSpoiled: a file of it is missing or is not as it was.
    """
    run = evidence.load(folder)
    for kept in evidence.artefacts(run):
        evidence.check(folder, kept)
    if run.finished is not None:
        raise UsageError(
            "there is nothing to go on with",
            code="VAL009",
            where=str(folder),
            got=f"a run that came to its end at {run.finished}",
            expected="a run that was cut off",
            hint=f"`rackwright judge {quote(str(folder))}` tells of it; without --resume a new run begins",
        )
    _refuse_another(folder, run, wanted)
    there = Evidence(folder, run)
    there.write(resumed=(*run.resumed, now))
    return there


def _refuse_another(folder: Path, run: Run, wanted: Run) -> None:
    differing = [name for name in _SAME if getattr(run, name) != getattr(wanted, name)]
    if differing:
        raise UsageError(
            "this is a run of something else",
            code="VAL010",
            where=str(folder),
            got=f"another {', '.join(name.removesuffix('_sha256') for name in differing)}",
            expected="a run of the same plan, suite and nodes",
            hint="give the same SPEC, SUITE and --limit as then; if the plan has changed, begin anew",
        )


def cut_off(runs: Path, wanted: Run) -> tuple[Path, Run] | None:
    """The newest run below a folder, where it was cut off, and is not at work, and could be gone on with."""
    folders = sorted((path for path in runs.glob("*") if path.is_dir()), key=lambda path: path.name)
    if not folders:
        return None
    with suppress(UsageError, EvidenceSpoiled):
        run = evidence.load(folders[-1])
        _refuse_another(folders[-1], run, wanted)
        if run.finished is None and run.steps and not _is_held(folders[-1]):
            return folders[-1], run
    return None
