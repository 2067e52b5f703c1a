"""A checkout in, the archive out that a controller runs from: the package, roles, templates.

The same files are the same bytes on every machine, so that a role lays it once.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PARTS = ("rackwright", "roles", "playbooks", "templates", "inventories/group_vars")
_LEFT_OUT = ("rackwright/lab", "rackwright/cli", "rackwright/validate", "rackwright/verdict")
"""A controller has no use for them."""
_MODE, _PROGRAM_MODE = 0o644, 0o755


def archive(checkout: Path) -> bytes:
    """A tar of what fills slots on demand, compressed."""
    packed = io.BytesIO()
    # The time of the run would make each archive another one.
    with (
        gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0) as file,
        tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for path in sorted(_files(checkout)):
            content = path.read_bytes()
            entry = tarfile.TarInfo(path.relative_to(checkout).as_posix())
            entry.size = len(content)
            entry.mode = _PROGRAM_MODE if path.stat().st_mode & 0o100 else _MODE
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def _files(checkout: Path) -> Iterator[Path]:
    left_out = tuple(checkout / name for name in _LEFT_OUT)
    for part in _PARTS:
        for path in (checkout / part).rglob("*"):
            hidden = "__pycache__" in path.parts or any(path.is_relative_to(one) for one in left_out)
            if path.is_file() and not hidden:
                yield path
