"""Output of nccl-tests and rccl-tests, text or JSON: bus bandwidth and wrong elements of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.core import nccl_json, nccl_text
from rackwright.validate.parsers.unread import incomplete, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.validate.parsers.core.nccl import Report, Row


@strict
def parse(text: str) -> Iterator[Reading]:
    """Bus bandwidth, GB/s, and wrong elements where they were looked for."""
    is_json = text.lstrip().startswith("{")
    for report in (nccl_json.read(text),) if is_json else nccl_text.read(text):
        if report.average_reached is False:
            raise incomplete("the average is below what was asked for by NCCL_TESTS_MIN_BW: no gate of ours")
        for row in report.rows:
            yield from _readings(report, row)


def _readings(report: Report, row: Row) -> Iterator[Reading]:
    for placement, timing in row.timings():
        said = {"type": row.type, "operation": row.redop, "placement": placement}
        since = {"started": report.start_time} if report.start_time else {}
        context = Context(
            collective=report.collective,
            size_bytes=row.size_bytes,
            ranks=report.ranks,
            nodes=tuple(sorted({device.host for device in report.devices})),
            parameters={**said, **since},
        )
        yield Reading(name="busbw", value=timing.busbw_gb_s, unit=Unit.GB_S, context=context)
        if timing.wrong is not None:
            yield Reading(name="wrong", value=timing.wrong, unit=Unit.COUNT, context=context)
