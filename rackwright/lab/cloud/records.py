"""What the cloud of a lab has launched, on disk, one folder an instance: it outlives labd.

An instance is there as long as its record is. The record is written before anything is made, and
removed after all else is gone, so that what is cut off on the way is found again.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from rackwright.canonical import dumps, write_atomic
from rackwright.lab import kept
from rackwright.lab.cloud.wire import INSTANCE
from rackwright.lab.model import CloudHost

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path, PurePosixPath

    from rackwright.lab.places import Places
    from rackwright.lab.rootfs import Content

_RECORD, _SEED, _CONSOLE = "instance.json", "seed", "console.log"


def seed(places: Places, instance: str) -> Path:
    """Folder of the files that an instance boots with, each with the mode it has on the host."""
    return places.cloud / instance / _SEED


def console(places: Places, instance: str) -> Path:
    """File that an instance's console is written to."""
    return places.cloud / instance / _CONSOLE


def read_all(places: Places) -> tuple[CloudHost, ...]:
    """Every instance that is there, by id.

    Raises:
        EnvironmentUnfit: a record is damaged, or was written by another version.
    """
    found = (read(places, path.parent.name) for path in sorted(places.cloud.glob(f"*/{_RECORD}")))
    return tuple(host for host in found if host is not None)


def read(places: Places, instance: str) -> CloudHost | None:
    """An instance; None where there is no such one.

    Raises:
        EnvironmentUnfit: its record is damaged, or was written by another version.
    """
    if not INSTANCE.fullmatch(instance):
        return None
    path = places.cloud / instance / _RECORD
    try:
        with kept.read_from(path):
            return CloudHost.model_validate_json(path.read_text())
    except FileNotFoundError:
        return None


def keep(places: Places, host: CloudHost, files: Mapping[PurePosixPath, Content]) -> None:
    """Write down an instance, with what it boots with."""
    folder = seed(places, host.name)
    shutil.rmtree(folder.parent, ignore_errors=True)  # of one that was cut off
    folder.mkdir(parents=True, mode=0o700)
    for path, content in files.items():
        write_atomic(folder / path, content.raw, content.mode)
    write_atomic(folder.parent / _RECORD, dumps(host), mode=0o600)


def forget(places: Places, instance: str) -> None:
    """Remove an instance's record, and last its folder."""
    (places.cloud / instance / _RECORD).unlink(missing_ok=True)
    shutil.rmtree(places.cloud / instance, ignore_errors=True)
