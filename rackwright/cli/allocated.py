"""Names that Tab offers of a spec's lock: its pools and their slots. Nothing is planned for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.cli.cluster import lock_path
from rackwright.plan.lock import parse
from rackwright.spec.slots import slot_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def names(spec: Path) -> Iterator[str]:
    """Each pool, then each of its slots.

    Args:
        spec: path of the spec.

    Raises:
        OSError: it has no lock.
        LockCorrupt: the lock is not as it was written.
    """
    path = lock_path(spec)
    for pool, of in sorted(parse(path.read_text(encoding="utf-8"), path).pools.items()):
        yield pool
        yield from (slot_name(pool, number) for number in of.seats)
