"""Output of nccl-tests and rccl-tests, text or JSON: bus bandwidth and wrong elements of each row."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.core import nccl_json, nccl_text
from rackwright.validate.parsers.flow import log
from rackwright.validate.parsers.unread import incomplete, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.validate.parsers.core.nccl import Report, Row
    from rackwright.validate.parsers.flow import Flow


@log
def parse(flow: Flow) -> Iterator[Reading]:
    """Bus bandwidth, GB/s, and wrong elements where they were looked for."""
    for report in _reports(flow):
        if report.average_reached is False:
            raise incomplete("the average is below what was asked for by NCCL_TESTS_MIN_BW: no gate of ours")
        for row in report.rows:
            yield from _readings(report, row)


def _reports(flow: Flow) -> tuple[Report, ...]:
    """A document is held as a whole; a table may have any number of lines of a log in it."""
    blocks = flow.blocks()
    first = next((block for block in blocks if block.strip()), "")
    everything = chain([first], blocks)
    if first.lstrip().startswith("{"):
        return (nccl_json.read(whole(everything)),)
    return nccl_text.read_lines(line for block in everything for line in block.splitlines())


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
