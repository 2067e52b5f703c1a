"""Output of ``stress-ng --verify --metrics --yaml /dev/stdout``: its messages and one YAML document.

The document has speeds, the messages have the counts of what passed, failed, was skipped; both
must be there and name the same stressors. A skipped stressor or a metric that stress-ng itself
calls untrustworthy makes the output incomplete.
Forms: ColinIanKing/stress-ng, ``stress-ng.c`` (0.15 to 0.20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from rackwright import strict_yaml
from rackwright.spec.base import Model
from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.unread import agree, corrupt, incomplete, misfit, not_run, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION = re.compile(r"0\.(\d+)(?:\.\d+)?")
_MINORS = range(15, 21)
_MESSAGE = re.compile(r"stress-ng: (info|metrc|warn|error|fail|debug|note):\s+\[\d+\] (.*)")
_SUMMARY = re.compile(r"(skipped|passed|failed|metrics untrustworthy): (\d+)(?:: (.*))?")
_STRESSOR = re.compile(r"([\w-]+) \((\d+)\)")
_LONGEST = 2**18
"""Characters of a document: all stressors there are make half of it; reading YAML takes much memory."""
_BUILD_INFO = re.compile(r"^build-info:\n(?:.+\n)*", re.MULTILINE)
"""How it was built; with Debian's source-date-epoch (0.19.02) not even YAML, and not read here."""
_END = re.compile(r"(?:un)?successful run completed in .*")


class _Part(Model):
    """A part of the document; what is not read here is left alone."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class Metric(_Part):
    """Speed of one stressor over all its instances."""

    stressor: str
    bogo_ops: Annotated[int, Field(ge=0, alias="bogo-ops")]
    per_second: Annotated[float, Field(ge=0, alias="bogo-ops-per-second-real-time")]
    seconds: Annotated[float, Field(gt=0, lt=86400, alias="wall-clock-time")]


class System(_Part):
    """Who wrote it."""

    version: Annotated[str, Field(alias="stress-ng-version")]


class Document(_Part):
    """All that is read."""

    system: Annotated[System, Field(alias="system-info")]
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1)]


_DOCUMENT = TypeAdapter(Document)


@strict
def parse(text: str) -> Iterator[Reading]:
    """Failures of each stressor, and its speed in bogo operations a second."""
    messages, document = _split(text)
    counts = _counts(messages)
    metrics = _metrics(document)
    if set(metrics) != set(counts):
        raise incomplete(f"speeds of {_names(metrics)}, verdicts on {_names(counts)}")
    for name, metric in metrics.items():
        context = Context(parameters={"stressor": name, "instances": sum(counts[name])})
        agree(metric.per_second, metric.bogo_ops / metric.seconds, f"{name}: operations a second")
        yield Reading(name="failures", value=counts[name][1], unit=Unit.COUNT, context=context)
        yield Reading(name="bogo_ops", value=metric.per_second, unit=Unit.OPS_S, context=context)


def _split(text: str) -> tuple[list[str], str]:
    """Messages, and the lines of the document."""
    messages: list[str] = []
    document: list[str] = []
    for line in text.splitlines():
        known = _MESSAGE.fullmatch(line)
        if known:
            messages.append(known[2])
        else:
            document.append(line)
    if not any(line.strip() for line in document):
        raise not_run("; ".join(messages) or "no document")
    return messages, "\n".join(document).strip()


def _counts(messages: list[str]) -> dict[str, tuple[int, int]]:
    """Stressor → instances that passed, and that failed."""
    found: dict[str, tuple[int, str]] = {}
    for summary in filter(None, map(_SUMMARY.fullmatch, messages)):
        if summary[1] in found:
            raise corrupt(f"{summary[1]} is counted twice")
        found[summary[1]] = int(summary[2]), summary[3] or ""
    missing = {"skipped", "passed", "failed", "metrics untrustworthy"} - found.keys()
    if missing or not any(map(_END.fullmatch, messages)):
        raise incomplete(f"no count of what {_names(missing) or 'ran'}, or no end")
    for word in ("skipped", "metrics untrustworthy"):
        if found[word][0]:
            raise incomplete(f"{word}: {found[word][1]}")
    passed, failed = _instances(*found["passed"], "passed"), _instances(*found["failed"], "failed")
    return {name: (passed.get(name, 0), failed.get(name, 0)) for name in {**passed, **failed}}


def _instances(total: int, named: str, word: str) -> dict[str, int]:
    found = {name: int(count) for name, count in _STRESSOR.findall(named)}
    if sum(found.values()) != total or _STRESSOR.sub("", named).strip():
        raise corrupt(f"{word}: {total}, and {named or 'nobody'} by name")
    return found


def _metrics(document: str) -> dict[str, Metric]:
    if len(document) > _LONGEST:
        raise corrupt(f"a document of {len(document)} characters: longer than any of stress-ng")
    if not document.startswith("---"):
        raise corrupt("no YAML document after the messages")
    if not document.endswith("..."):
        raise incomplete("the YAML document has no end")
    try:
        value = strict_yaml.load(_BUILD_INFO.sub("", document, count=1))
        read = _DOCUMENT.validate_python(value)
    except strict_yaml.NotYaml as error:
        raise corrupt(f"document: {error}") from None
    except ValidationError as error:
        raise misfit(error, "document") from None
    except (ValueError, RecursionError) as error:
        raise corrupt(f"document: {error}") from None
    _check_version(read.system.version)
    metrics = {metric.stressor: metric for metric in read.metrics}
    if len(metrics) != len(read.metrics):
        raise corrupt("a stressor stands twice")
    return metrics


def _check_version(version: str) -> None:
    known = _VERSION.fullmatch(version)
    if known is None or int(known[1]) not in _MINORS:
        raise corrupt(f"version {version!r} of stress-ng: none whose output is known here")


def _names(names: object) -> str:
    return ", ".join(sorted(map(str, names))) if isinstance(names, (set, dict)) else str(names)
