"""Output of the clock check: one line of kind ``result`` a host.

host, reference (whose clock it was compared with), offset_s (this host's clock minus the
reference's), uncertainty_s (half the round trip of the question).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model
from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.lines import fitting, one_a_host, sealed
from rackwright.validate.parsers.unread import strict

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = "rackwright/clock/1"
_CENTURY = 3.2e9


class Result(Model):
    """Of one host."""

    kind: Literal["result"]
    host: str
    reference: Annotated[str, Field(min_length=1)]
    offset_s: Annotated[float, Field(gt=-_CENTURY, lt=_CENTURY)]
    uncertainty_s: Annotated[float, Field(ge=0, lt=60)]


@strict
def parse(text: str) -> Iterator[Reading]:
    """Offset of each host's clock, seconds."""
    lines = sealed(text, SCHEMA)
    results = [fitting(Result, fields, f"line {number}") for number, fields in enumerate(lines, 1)]
    one_a_host(result.host for result in results)
    for result in results:
        context = Context(
            node=result.host,
            parameters={"reference": result.reference, "uncertainty_s": result.uncertainty_s},
        )
        yield Reading(name="offset", value=result.offset_s, unit=Unit.SECONDS, context=context)
