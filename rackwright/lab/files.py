"""Files that `lab up` makes where the spec wants them, noted so that `lab down` takes them away."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rackwright.canonical import write_atomic
from rackwright.errors import EnvironmentUnfit
from rackwright.lab import teardown

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.lab.places import Places


def note(places: Places, path: Path) -> None:
    """Note a path outside the lab's own folders, with the folders that are missing above it.

    Before it is made: what is made and not noted would stay for ever. What is there already is
    somebody else's and is not noted.
    """
    if path.is_relative_to(places.state):
        return
    missing = [folder for folder in reversed(path.parents) if not folder.exists()]
    new = [str(entry) for entry in (*missing, path) if not entry.exists()]
    noted = teardown.noted_outside(places)
    lines = [*noted, *(entry for entry in new if entry not in noted)]
    if lines != noted:
        write_atomic(places.outside, os.fsencode("".join(f"{line}\n" for line in lines)))


def publish(places: Places, path: Path, content: str) -> None:
    """Write a file that the spec names; one that is there already must say the same.

    Raises:
        EnvironmentUnfit: it says something else.
    """
    if not path.exists():
        note(places, path)
        write_atomic(path, content)
    elif path.read_bytes() != content.encode():
        raise EnvironmentUnfit(
            "a file that the lab would make is already there",
            code="LAB013",
            where=str(path),
            got="other content",
            expected="what this lab made, or no such file",
            hint="move it away, or name another one in the spec",
        )
