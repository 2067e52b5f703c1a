"""The boot server of the lab: lay a host's boot seed into its root, as a network boot would."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from rackwright.lab import rootfs
from rackwright.lab.rootfs import Content

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def lay(seeds: Iterable[Path], root: Path, *, keep_modes: bool = False) -> int:
    """Copy seeds over a root, the later over the earlier.

    Args:
        seeds: folders; those that are not there are passed over.
        root: of the host.
        keep_modes: whether files keep their modes; if not, all may read them.

    Returns:
        How many files were laid.

    Raises:
        UnsafeRoot: a folder on the way is a link, or no folder.
    """
    count = 0
    for seed in seeds:
        for source in sorted(path for path in seed.rglob("*") if path.is_file()):
            mode = stat.S_IMODE(source.stat().st_mode) if keep_modes else rootfs.FILE_MODE
            rootfs.write(root, source.relative_to(seed), Content(source.read_bytes(), mode))
            count += 1
    return count
