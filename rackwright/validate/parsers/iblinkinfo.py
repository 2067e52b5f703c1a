"""Output of ``iblinkinfo``: each port with its state, width and rate, and whether it could be faster.

``Could be`` marks a link that runs below what both its ends can do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.sealing import body_of
from rackwright.validate.parsers.unread import corrupt, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_NODE = re.compile(r"(?:CA|Switch|Router): (?:(0x[0-9a-f]{16}) )?(.+):")
_PORT = re.compile(
    r"\s*(?:0x[0-9a-f]{16}\s+)?(\d+)\s+(\d+)\[ +\] ==\(\s*(?:(\d+X)\s+(\d+(?:\.\d+)?) Gbps\s+)?"
    r"(Active|Down|Init|Armed|Initialize)/"
    r"\s*(LinkUp|Polling|Disabled|Sleep|PortConfigurationTraining|LinkErrorRecovery)\)==>"
    r"\s*(?:0x[0-9a-f]{16}\s+)?(?:(\d+)\s+(\d+))?\[ +\] \"([^\"]*)\" \((.*)\)"
)
_COULD = re.compile(r"\s*Could be (\d+(?:\.\d+)? Gbps|\d+X(?: \d+(?:\.\d+)? Gbps)?)\s*")


@strict
def parse(text: str) -> Iterator[Reading]:
    """Of each port: active or not; of an active one rate, Gbit/s, width, and whether it is degraded."""
    body = body_of(text)
    node, seen = "", set[tuple[str, str]]()
    for number, line in enumerate(body.lines, 1):
        if (head := _NODE.fullmatch(line)) is not None:
            node = head[2]
            continue
        port = _PORT.fullmatch(line.rstrip())
        if port is None or not node:
            raise corrupt(f"line {number} is not understood: {line[:80]!r}")
        if (node, port[2]) in seen:
            raise corrupt(f"port {port[2]} of {node} stands twice")
        seen.add((node, port[2]))
        yield from _readings(node, port)
    yield body.reading()


def _readings(node: str, port: re.Match[str]) -> Iterator[Reading]:
    said: dict[str, str | int | float] = {"device": node, "port": int(port[2])}
    if port[9]:
        said["peer"] = port[9]
    context = Context(parameters=said)
    active = (port[5], port[6]) == ("Active", "LinkUp")
    if active != (port[3] is not None) or (active and port[8] is None):
        raise corrupt(f"port {port[2]} of {node} is {port[5]} with a width or without")
    yield Reading(name="active", value=active, unit=Unit.YES_NO, context=context)
    if not active:
        return
    rest = port[10].strip()
    if rest and not _COULD.fullmatch(rest):
        raise corrupt(f"port {port[2]} of {node}: {rest[:60]!r} is not understood")
    yield Reading(name="degraded", value=bool(rest), unit=Unit.YES_NO, context=context)
    yield Reading(name="lane_rate", value=float(port[4]), unit=Unit.GBIT_S, context=context)
    yield Reading(name="width", value=port[3], unit=Unit.WORD, context=context)
