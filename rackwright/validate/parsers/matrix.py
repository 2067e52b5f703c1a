"""Output of roles/burn_in's matrix product: one line of kind ``result`` a host.

host, order (of the square matrices), iterations, threads, pattern (``uniform seed 7``),
gflops (median over the iterations), gflops_min, wrong (iterations whose product did not pass its
own verification), mismatches (iterations whose result differs from the first one), result_sha256
(of the first result's bytes; equal on all hosts with the same library).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model
from rackwright.validate.model import Context, Reading, Sha256, Unit
from rackwright.validate.parsers.lines import fitting, one_a_host, sealed
from rackwright.validate.parsers.unread import corrupt, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = "rackwright/matrix/1"
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Gflops = Annotated[float, Field(gt=0, lt=1e9)]


class Result(Model):
    """Of one host."""

    kind: Literal["result"]
    host: str
    order: Positive
    iterations: Positive
    threads: Positive
    pattern: str
    gflops: Gflops
    gflops_min: Gflops
    wrong: Count
    mismatches: Count
    result_sha256: Sha256


@strict
def parse(text: str) -> Iterator[Reading]:
    """Speed, wrong and differing iterations, and the result's hash, of each host."""
    lines = sealed(text, SCHEMA)
    results = [fitting(Result, fields, f"line {number}") for number, fields in enumerate(lines, 1)]
    one_a_host(result.host for result in results)
    for result in results:
        _check(result)
        yield from _readings(result)


def _check(result: Result) -> None:
    if result.gflops_min > result.gflops:
        raise corrupt(f"{result.host}: the least speed is above the median")
    if max(result.wrong, result.mismatches) > result.iterations:
        raise corrupt(f"{result.host}: more bad iterations than iterations")


def _readings(result: Result) -> Iterator[Reading]:
    context = Context(
        node=result.host,
        pattern=result.pattern,
        parameters={"order": result.order, "iterations": result.iterations, "threads": result.threads},
    )
    yield Reading(name="gflops", value=result.gflops, unit=Unit.GFLOPS, context=context)
    yield Reading(name="wrong", value=result.wrong, unit=Unit.COUNT, context=context)
    yield Reading(name="mismatches", value=result.mismatches, unit=Unit.COUNT, context=context)
    yield Reading(name="result_hash", value=result.result_sha256, unit=Unit.SHA256, context=context)
