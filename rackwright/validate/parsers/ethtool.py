"""Output of ``ethtool INTERFACE``, of one interface or of several after one another: speed, duplex, link."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.sealing import body_of
from rackwright.validate.parsers.unread import corrupt, incomplete, not_run, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = re.compile(r"Settings for (\S+):")
_FIELD = re.compile(r"\t([A-Z][A-Za-z0-9 ()/-]*): (.*)")
_SPEED = re.compile(r"(\d+)Mb/s")
_WANTED = ("Speed", "Duplex", "Link detected")
_UNKNOWN = frozenset({"Unknown!", "Unknown! (255)"})
_REFUSED = re.compile(r"(?:netlink error: |Cannot get device settings: |No data available|ethtool: ).*")


@strict
def parse(text: str) -> Iterator[Reading]:
    """Speed, Mbit/s, duplex and link of each interface."""
    body = body_of(text)
    blocks: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    for number, line in enumerate(body.lines, 1):
        if (head := _HEAD.fullmatch(line)) is not None:
            if head[1] in blocks:
                raise corrupt(f"{head[1]} stands twice")
            current = blocks.setdefault(head[1], {})
        elif _REFUSED.fullmatch(line):
            raise not_run(line[:160])
        elif current is None or not line.startswith("\t"):
            raise corrupt(f"line {number} is not understood: {line[:80]!r}")
        elif (field := _FIELD.fullmatch(line)) is not None and field[1] in _WANTED:
            if field[1] in current:
                raise corrupt(f"line {number}: {field[1]} stands twice")
            current[field[1]] = field[2].strip()
    for name, fields in blocks.items():
        yield from _readings(name, fields)
    yield body.reading()


def _readings(name: str, fields: dict[str, str]) -> Iterator[Reading]:
    lacking = [key for key in _WANTED if key not in fields]
    if lacking:
        raise incomplete(f"{name}: no {', '.join(lacking)}")
    context = Context(parameters={"device": name})
    link, speed, duplex = (fields[key] for key in ("Link detected", "Speed", "Duplex"))
    if link not in ("yes", "no") or duplex not in {"Full", "Half", *_UNKNOWN}:
        raise corrupt(f"{name}: link {link[:20]!r}, duplex {duplex[:20]!r}")
    found = _SPEED.fullmatch(speed)
    if (found is None) != (speed in _UNKNOWN) or (link == "yes" and found is None):
        raise corrupt(f"{name}: speed {speed[:20]!r}")
    yield Reading(name="link", value=link == "yes", unit=Unit.YES_NO, context=context)
    if found is not None:
        yield Reading(name="speed", value=int(found[1]), unit=Unit.MBIT_S, context=context)
        yield Reading(name="duplex", value=duplex.lower(), unit=Unit.WORD, context=context)
