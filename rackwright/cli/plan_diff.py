"""What changed since an older spec or plan, and what each change does to what is running."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic_core import to_jsonable_python

from rackwright.errors import SpecUnreadable
from rackwright.plan.diff import Difference, differences
from rackwright.plan.model import SCHEMA
from rackwright.spec.base import Change, Update
from rackwright.spec.load import read
from rackwright.spec.policy import update_policy
from rackwright.spec.text import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rackwright.canonical import Json
    from rackwright.cli.cluster import Cluster
    from rackwright.spec.cluster import ClusterSpec

_WIDEST = 40
"""Of a value in text; JSON has it whole."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One changed path, and its update policy; a plan's paths have none."""

    difference: Difference
    policy: Update | None

    @property
    def forbidden(self) -> bool:
        """Whether the spec's owner must not make it."""
        return self.policy is not None and self.policy.change is Change.FORBIDDEN


def changes(cluster: Cluster, old: Path) -> list[Changed]:
    """All that is different from an older spec (YAML) or plan (JSON).

    Raises:
        SpecUnreadable: the older file is neither.
        SpecInvalid: it is a spec that breaks the schema of today.
    """
    if old.suffix == ".json":
        before, now = _old_plan(old), cluster.plan.model_dump(mode="json", by_alias=True)
        return [Changed(one, None) for one in differences(before, now) if one.path[0] != "origin"]
    return list(_spec_changes(read(old), cluster.loaded.spec))


def _spec_changes(old: ClusterSpec, new: ClusterSpec) -> Iterator[Changed]:
    before, now = old.model_dump(), new.model_dump()
    for one in differences(before, now):
        yield Changed(one, update_policy(one.path, before if one.new is None else now))


def _old_plan(path: Path) -> Mapping[str, object]:
    try:
        plan = json.loads(read_text(path, "a plan, JSON"))
    except json.JSONDecodeError as error:
        raise SpecUnreadable(
            "the older plan is no JSON",
            where=f"{path}:{error.lineno}:{error.colno}",
            got=error.msg,
            expected="plan.json as `rackwright plan` wrote it",
        ) from None
    if not isinstance(plan, dict) or plan.get("schema") != SCHEMA:
        raise SpecUnreadable(
            "the older file is no plan of this release",
            where=str(path),
            got=str(plan.get("schema", "no schema")) if isinstance(plan, dict) else type(plan).__name__,
            expected=SCHEMA,
        )
    return plan


def changes_json(changed: Sequence[Changed]) -> Json:
    """Every change with both values."""
    return [
        {
            "path": str(one.difference.path),
            "old": _plain(one.difference.old),
            "new": _plain(one.difference.new),
            "change": one.policy.change.value if one.policy else None,
            "source": one.policy.source if one.policy else None,
        }
        for one in changed
    ]


def changes_text(changed: Sequence[Changed]) -> Iterator[str]:
    """One line a change."""
    if not changed:
        yield "no change"
    for one in changed:
        policy = f"  [{one.policy.change}: {one.policy.source}]" if one.policy else ""
        yield f"{one.difference.path}: {_both(one.difference)}{policy}"


def _both(one: Difference) -> str:
    if one.old is None:
        return f"added {_short(one.new)}".rstrip()
    if one.new is None:
        return f"removed {_short(one.old)}".rstrip()
    return f"{_short(one.old)} -> {_short(one.new)}"


def _short(value: object) -> str:
    """A value in a line; a map is told by its path alone."""
    plain = _plain(value)
    if isinstance(plain, dict):
        return ""
    text = json.dumps(plain, ensure_ascii=False)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _plain(value: object) -> Json:
    """As JSON; the items of a set in their own order."""
    if isinstance(value, frozenset):
        value = sorted(value)
    plain: Json = to_jsonable_python(value)
    return plain
