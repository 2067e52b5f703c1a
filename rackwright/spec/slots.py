"""Names of slots: the one form that spec, plan and asset files share."""

from __future__ import annotations

import re

_FORM = re.compile(r"([a-z][a-z0-9-]*)-([0-9]{3,9})")


def slot_name(pool: str, number: int) -> str:
    """Name of a pool's slot; numbers count from 1: ``node-001``, ``node-1000``."""
    return f"{pool}-{number:03d}"


def parse_slot(name: str) -> tuple[str, int] | None:
    """Pool and number of a slot's name; None where it is no such name."""
    match = _FORM.fullmatch(name)
    if match is None:
        return None
    pool, number = match[1], int(match[2])
    return (pool, number) if slot_name(pool, number) == name else None
