"""What changing a value of a spec does to what is already running: its path in, its policy out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.findings import SpecPath
from rackwright.spec.base import Update
from rackwright.spec.cluster import ClusterSpec
from rackwright.spec.walk import model_at

if TYPE_CHECKING:
    from rackwright.spec.base import Model


def update_policy(path: SpecPath, values: object) -> Update:
    """Policy of the field that a path leads to, or of the nearest field above it.

    A key of a map has the policy of the map: taking a pool away is a change of ``pools``.

    Args:
        path: keys from the spec's root.
        values: the whole spec as plain values; of a union, they tell which member is meant.

    Raises:
        KeyError: the path leads to no field of a spec.
    """
    for length in range(len(path), 0, -1):
        model = model_at(ClusterSpec, SpecPath(path[: length - 1]), values)
        policy = _of_field(model, str(path[length - 1])) if model else None
        if policy is not None:
            return policy
    raise KeyError(str(path))


def _of_field(model: type[Model], name: str) -> Update | None:
    field = model.model_fields.get(name)
    found = (note for note in field.metadata if isinstance(note, Update)) if field else iter(())
    return next(found, None)
