"""`Observed` on disk: read whole or refused, replaced in one step and by one process at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical, locks
from rackwright.errors import EnvironmentUnfit
from rackwright.plan.observed import Observed, seal, unseal

if TYPE_CHECKING:
    from pathlib import Path

_HELD_FOR_S = 10.0
"""More than anybody takes to read and replace one file."""


def load(path: Path, cluster: str) -> Observed:
    """What is known of a cluster; nothing before the first host has been seen.

    Raises:
        EnvironmentUnfit: the file cannot be read in full, is damaged, or belongs to another cluster.
    """
    try:
        observed = unseal(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Observed(cluster=cluster)
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from None
    if observed.cluster != cluster:
        raise EnvironmentUnfit(
            "this file holds what is known of another cluster",
            code="OBS002",
            where=str(path),
            got=observed.cluster,
            expected=cluster,
            hint="put the file back where it came from",
        )
    return observed


def save(path: Path, observed: Observed) -> None:
    """Replace the file.

    Raises:
        OSError: it could not be written whole; the old one stays.
    """
    canonical.write_atomic(path, seal(observed), mode=0o600)


def replaced(path: Path, before: Observed, after: Observed) -> bool:
    """Replace what is known, unless somebody else has done so; whether it is then what is given.

    Args:
        path: of the file.
        before: as it was read: what is to be stored says something of that alone.
        after: what is to be stored; where nothing differs, nothing is locked.

    Raises:
        EnvironmentUnfit: another process holds the file, and does not let go of it.
        OSError: it could not be written whole; the old one stays.
    """
    if after == before:
        return load(path, before.cluster) == before
    lock = path.with_suffix(".lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with locks.alone(lock, lambda holder: _busy(holder, lock), _HELD_FOR_S):
        if load(path, before.cluster) != before:
            return False
        save(path, after)
    return True


def _busy(holder: str, lock: Path) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "another process writes down the host keys that it has seen",
        code="OBS003",
        where=str(lock),
        got=holder,
        expected=f"one that lets go within {_HELD_FOR_S:g} s",
        hint="see what keeps it: a disk that is slow, or a file server that does not answer",
    )


def _damaged(path: Path, error: OSError | ValueError) -> EnvironmentUnfit:
    cause = error.strerror if isinstance(error, OSError) else None
    return EnvironmentUnfit(
        "the host keys that were seen before cannot be read",
        code="OBS001",
        where=str(path),
        got=cause or " ".join(str(error).split()),
        expected="the file as `rackwright inventory` wrote it",
        hint="restore it from a backup; without it, move it away and the keys are read anew from the "
        "console logs, as if each host were met for the first time",
    )
