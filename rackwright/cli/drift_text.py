"""A `DriftReport` for a reader: what differs, together for hosts on which the same does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.converge.model import Status
from rackwright.hostlists import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.converge.drift import Difference, DriftReport


def text(report: DriftReport) -> str:
    """The whole answer."""
    return "\n".join(_lines(report))


def _lines(report: DriftReport) -> Iterator[str]:
    looked = sum(host.status in (Status.DONE, Status.FAILED) for host in report.hosts.values())
    held = sum(host.status is Status.HELD for host in report.hosts.values())
    count = len(report.drift)
    yield (
        f"{report.cluster}: {count} {'difference' if count == 1 else 'differences'} on "
        f"{looked} of {len(report.hosts) - held} hosts, {report.seconds:.0f} s"
    )
    if report.problem:
        yield f"  the run itself: {report.problem.message}"
    yield from _differences(report)
    for name, host in report.hosts.items():
        if host.status not in (Status.DONE, Status.FAILED):
            yield f"  {name}: {host.status.value}: {host.reason.message if host.reason else ''}"


def _differences(report: DriftReport) -> Iterator[str]:
    alike: dict[Difference, list[str]] = {}
    for one in report.drift:
        alike.setdefault(one.model_copy(update={"host": ""}), []).append(one.host)
    for one, hosts in alike.items():
        yield f"  {folded(hosts)}: {one.kind} {one.subject}"
        yield f"    intended  {one.intended}"
        yield f"    found     {one.observed}"
        yield f"    role      {one.role or 'the playbook'}"
        if one.hint:
            yield f"    hint      {one.hint}"
