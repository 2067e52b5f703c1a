"""Output of the link check: one line of kind ``result`` a host.

host, interfaces: name → {present, carrier, operstate, mtu} of every interface that was asked for.
``carrier`` and ``operstate`` are those of /sys/class/net; an interface that is not there has
present and carrier false, operstate ``absent`` and mtu 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model
from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.lines import fitting, one_a_host, sealed, taken
from rackwright.validate.parsers.unread import corrupt, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = "rackwright/links/1"
Operstate = Literal["up", "down", "lowerlayerdown", "dormant", "testing", "unknown", "notpresent", "absent"]
"""The kernel's words (RFC 2863), and ours for what is not there."""


class Interface(Model):
    """State of one interface."""

    present: bool
    carrier: bool
    operstate: Operstate
    mtu: Annotated[int, Field(ge=0, le=65536)]


class Result(Model):
    """Of one host."""

    kind: Literal["result"]
    host: str
    interfaces: Annotated[dict[str, Interface], Field(min_length=1)]


@strict
def parse(text: str) -> Iterator[Reading]:
    """Carrier of each interface of each host."""
    lines = sealed(text, SCHEMA)
    results = [fitting(Result, fields, f"line {number}") for number, fields in taken(lines)]
    one_a_host(result.host for result in results)
    for result in results:
        for name, interface in result.interfaces.items():
            _check(f"{result.host} {name}", interface)
            context = Context(node=result.host, parameters={"interface": name})
            yield Reading(name="carrier", value=interface.carrier, unit=Unit.YES_NO, context=context)


def _check(what: str, interface: Interface) -> None:
    absent = interface.operstate == "absent"
    if interface.present == absent or (absent and interface.carrier):
        raise corrupt(f"{what} is there and is not")
    if interface.carrier and interface.operstate in ("down", "lowerlayerdown", "notpresent"):
        raise corrupt(f"{what} has a carrier and is {interface.operstate}")
    if interface.operstate == "up" and not interface.carrier:
        raise corrupt(f"{what} is up and has no carrier")
