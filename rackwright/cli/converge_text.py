"""A `ConvergeReport` for a reader: who is done in a line, and each of the others with its cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.converge.model import Status
from rackwright.hostlists import folded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.converge.model import ConvergeReport, Reason

_WORST_FIRST = (Status.FAILED, Status.UNREACHABLE, Status.NOT_REACHED, Status.ABSENT, Status.HELD)


def text(report: ConvergeReport) -> str:
    """The whole answer."""
    return "\n".join(_lines(report))


def finished(report: ConvergeReport) -> str:
    """How far an interrupted run came."""
    done, hosts = report.totals.hosts[Status.DONE], len(report.hosts)
    return f"stopped: {done} of {hosts} hosts are done"


def _lines(report: ConvergeReport) -> Iterator[str]:
    done, asked = report.totals.hosts[Status.DONE], len(report.hosts) - report.totals.hosts[Status.HELD]
    would = "would change" if report.check else "changed"
    yield (
        f"{report.cluster}: {done} of {asked} hosts done, {would}={report.totals.tasks.changed}, "
        f"{report.seconds:.0f} s"
    )
    if report.problem:
        yield from _reason("the run itself", "failed", report.problem)
    yield from _done(report)
    for status in _WORST_FIRST:
        yield from _others(report, status)


def _done(report: ConvergeReport) -> Iterator[str]:
    """Hosts that are done, together where the same was done on them."""
    alike: dict[tuple[int, int, int], list[str]] = {}
    for name, host in report.hosts.items():
        if host.status is Status.DONE:
            counts = host.tasks
            alike.setdefault((counts.changed, counts.ok, counts.skipped), []).append(name)
    for (changed, ok, skipped), names in sorted(alike.items(), reverse=True):
        yield f"  {folded(names)}: done: changed={changed} ok={ok} skipped={skipped}"


def _others(report: ConvergeReport, status: Status) -> Iterator[str]:
    """Hosts of a status, together where they have the same cause."""
    alike: dict[Reason | None, list[str]] = {}
    for name, host in report.hosts.items():
        if host.status is status:
            alike.setdefault(host.reason, []).append(name)
    for reason, names in alike.items():
        yield from _reason(folded(names), status.value, reason)


def _reason(subject: str, status: str, reason: Reason | None) -> Iterator[str]:
    message = reason.message if reason else ""
    yield f"  {subject}: {status}: {message}"
    if reason and reason.task:
        yield f"    at    {reason.task}"
    if reason and reason.hint:
        yield f"    hint  {reason.hint}"
