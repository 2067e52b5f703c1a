"""What another run holds, or left behind when it was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import paths
from rackwright.converge import lock
from rackwright.lack import Lack
from rackwright.provision import locks
from rackwright.provision.stacks import stacks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.doctor.model import Ground


def work_lock(ground: Ground) -> Iterator[Lack]:
    """No `up`, `destroy`, `refresh` or `stacks init` is at work on this cluster."""
    state = ground.folders.state
    what = "another run is at work on this cluster"
    yield from _held(locks.TAKEN, what, state / locks.WORK, locks.worker(state))


def stack_locks(ground: Ground) -> Iterator[Lack]:
    """Nobody else is at work on a stack."""
    for name in stacks(ground.plan):
        for holder in locks.holders(ground.folders.state, name.project, name.stack):
            yield Lack(
                "UP003",
                "a dead run left its lock" if holder.dead else "another run is at work on this stack",
                str(holder),
                "a stack that nobody holds",
                "the next `rackwright up` releases it"
                if holder.dead
                else f"wait for it, or, if it is dead on another machine: {name.unlock}",
                blocks=not holder.dead,
                where=str(name),
            )


def converge_lock(ground: Ground) -> Iterator[Lack]:
    """No converge of this cluster is running."""
    folder = paths.converge(ground.plan.cluster.name)
    what = "another converge of this cluster is running"
    yield from _held("CONV001", what, folder / lock.LOCK, lock.holder(folder))


def _held(code: str, what: str, file: Path, holder: str) -> Iterator[Lack]:
    """A lock of the kernel's, which no dead process holds."""
    if holder:
        waiting = "wait for it; its lock goes when it ends, even when it is killed"
        yield Lack(code, what, holder, "a lock that nobody holds", waiting, where=str(file))
