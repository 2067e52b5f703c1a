"""`Observed` on disk: read whole or refused, replaced in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.errors import EnvironmentUnfit
from rackwright.plan.observed import Observed, seal, unseal

if TYPE_CHECKING:
    from pathlib import Path


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
