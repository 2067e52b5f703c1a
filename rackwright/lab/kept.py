"""Files of a lab's state are read again as they were written, or refused in one way."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SAID = 200


@contextmanager
def read_from(path: Path) -> Iterator[None]:
    """Within it a file is read; what a disk has damaged, or another version wrote, is told as that.

    Raises:
        EnvironmentUnfit: no UTF-8, no JSON, or not what this version writes there.
    """
    try:
        yield
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        said = " ".join(str(error).split())[:_SAID]
        raise EnvironmentUnfit(
            "a file of a lab is damaged, or of another version of rackwright",
            code="LAB016",
            where=str(path),
            got=f"{type(error).__name__}: {said}",
            expected="what `rackwright lab up` wrote",
            hint="`rackwright lab down NAME` takes the lab away, with its hosts and their disks",
        ) from None
