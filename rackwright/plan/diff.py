"""Two states of the same thing, as plain values, in; every path that changed, out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.findings import SpecPath

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = SpecPath()


@dataclass(frozen=True, slots=True)
class Difference:
    """One path whose value is not what it was; None is an absent one."""

    path: SpecPath
    old: object
    new: object


def differences(old: object, new: object, path: SpecPath = ROOT) -> Iterator[Difference]:
    """Every change, by path: maps key by key, anything else as a whole."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), path / key)
    elif old != new:
        yield Difference(path, old, new)
