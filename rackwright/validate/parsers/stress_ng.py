"""Output of ``stress-ng --verify --metrics --yaml /dev/stdout``: its messages and one YAML document.

The document has speeds, the messages have the counts of what passed, failed, was skipped; both
must be there and name the same stressors. A skipped stressor or a metric that stress-ng itself
calls untrustworthy makes the output incomplete.
The document is read line by line, in the one form that stress-ng prints: nodes of YAML take sixty times the
memory of their text, and with Debian's source-date-epoch (0.19.02) it is not even YAML.
Forms: ColinIanKing/stress-ng, ``stress-ng.c`` (0.15 to 0.20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.unread import Unread, agree, corrupt, incomplete, lines_of, not_run, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION = re.compile(r"'0\.(\d{1,3})(?:\.\d+)?'")
_MINORS = range(15, 21)
_MESSAGE = re.compile(r"stress-ng: (?:info|metrc|warn|error|fail|debug|note):\s+\[\d+\] (.*)")
_SUMMARY = re.compile(r"(skipped|passed|failed|metrics untrustworthy): (\d{1,9})(?:: (.*))?")
_STRESSOR = re.compile(r"([\w-]+) \((\d{1,9})\)")
_END = re.compile(r"(?:un)?successful run completed in .*")
_SECTION = re.compile(r"([a-z][a-z-]*):")
_PAIR = re.compile(r" {2,8}(- )?(\S+): +(\S.*)")
_BUILD, _SYSTEM, _METRICS = "build-info", "system-info", "metrics"
_COUNT, _FIGURE = re.compile(r"\d{1,18}"), re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_MOST = 1000
"""Stressors, or keys of one of them; stress-ng 0.20 has fewer than 400."""
_DAY_S = 86400
_QUOTED = 20
"""Messages that are quoted where there is nothing else."""


class Metric(NamedTuple):
    """Speed of one stressor over all its instances."""

    bogo_ops: int
    per_second: float
    seconds: float


@strict
def parse(text: str) -> Iterator[Reading]:
    """Failures of each stressor, and its speed in bogo operations a second."""
    messages, document = _Messages(), _Document()
    for line in lines_of(text):
        known = _MESSAGE.fullmatch(line)
        if known:
            messages.add(known[1])
        elif line.strip():
            document.add(line.rstrip())
    if not document.begun:
        raise not_run("; ".join(messages.first) or "no document")
    counts, metrics = messages.counts(), document.metrics()
    if set(metrics) != set(counts):
        raise incomplete(f"speeds of {_names(metrics)}, verdicts on {_names(counts)}")
    for name, metric in metrics.items():
        context = Context(parameters={"stressor": name, "instances": sum(counts[name])})
        agree(metric.per_second, metric.bogo_ops / metric.seconds, f"{name}: operations a second")
        yield Reading(name="failures", value=counts[name][1], unit=Unit.COUNT, context=context)
        yield Reading(name="bogo_ops", value=metric.per_second, unit=Unit.OPS_S, context=context)


class _Messages:
    """What stress-ng said, as far as it counts."""

    def __init__(self) -> None:
        self.first: list[str] = []
        self._summaries: dict[str, tuple[int, str]] = {}
        self._twice, self._ended = "", False

    def add(self, message: str) -> None:
        if len(self.first) < _QUOTED:
            self.first.append(message)
        self._ended = self._ended or _END.fullmatch(message) is not None
        if (summary := _SUMMARY.fullmatch(message)) is not None:
            self._twice = self._twice or (summary[1] if summary[1] in self._summaries else "")
            self._summaries[summary[1]] = int(summary[2]), summary[3] or ""

    def counts(self) -> dict[str, tuple[int, int]]:
        """Stressor → instances that passed, and that failed."""
        if self._twice:
            raise corrupt(f"{self._twice} is counted twice")
        found = self._summaries
        missing = {"skipped", "passed", "failed", "metrics untrustworthy"} - found.keys()
        if missing or not self._ended:
            raise incomplete(f"no count of what {_names(missing) or 'ran'}, or no end")
        for word in ("skipped", "metrics untrustworthy"):
            if found[word][0]:
                raise incomplete(f"{word}: {found[word][1]}")
        passed, failed = _instances(*found["passed"], "passed"), _instances(*found["failed"], "failed")
        return {name: (passed.get(name, 0), failed.get(name, 0)) for name in {**passed, **failed}}


def _instances(total: int, named: str, word: str) -> dict[str, int]:
    if named.count("(") > _MOST:
        raise corrupt(f"{word}: more stressors than there are")
    found = {name: int(count) for name, count in _STRESSOR.findall(named)}
    if sum(found.values()) != total or _STRESSOR.sub("", named).strip():
        raise corrupt(f"{word}: {total}, and {named[:200] or 'nobody'} by name")
    return found


class _Document:
    """The lines between ``---`` and ``...``, each once; what it says of how it was built is not read.

    A document without its end is cut off whatever stands in it, so what is wrong in it is told at the end.
    """

    def __init__(self) -> None:
        self.begun = self._is_one = False
        self._last = self._section = ""
        self._sections: set[str] = set()
        self._pairs: dict[str, str] = {}
        self._system: dict[str, str] = {}
        self._metrics: dict[str, Metric] = {}
        self._wrong: Unread | None = None

    def add(self, line: str) -> None:
        """The next line that is no message."""
        try:
            if self._wrong is None:
                self._take(line)
        except Unread as wrong:
            self._wrong = wrong
        self._last, self.begun = line, True

    def metrics(self) -> dict[str, Metric]:
        """Stressor → its speed.

        Raises:
            Unread: the document is cut off, or is not as stress-ng writes it.
        """
        if self._is_one and self._last != "...":
            raise incomplete("the YAML document has no end")
        if self._wrong is not None:
            raise self._wrong
        return self._metrics

    def _take(self, line: str) -> None:
        if not self.begun:
            self._is_one = line == "---"
            if not self._is_one:
                raise corrupt("no YAML document after the messages")
        elif self._last == "...":
            raise corrupt("something stands after the YAML document")
        elif line == "...":
            self._close()
            self._check()
        elif (section := _SECTION.fullmatch(line)) is not None:
            self._open(section[1])
        elif self._section != _BUILD:
            self._pair(line)

    def _open(self, section: str) -> None:
        self._close()
        if section in self._sections:
            raise corrupt(f"document: the key {section} stands twice")
        self._sections.add(section)
        self._section = section

    def _pair(self, line: str) -> None:
        pair = _PAIR.fullmatch(line)
        if pair is None or not self._section:
            raise corrupt(f"document: {line[:80]!r} is no line of it")
        if pair[1] is not None:
            self._close()
            if self._section == _METRICS and pair[2] != "stressor":
                raise corrupt(f"document: {line[:80]!r} where a stressor was to be named")
        if pair[2] in self._pairs or len(self._pairs) >= _MOST:
            raise corrupt(f"document: the key {pair[2][:80]} stands twice")
        self._pairs[pair[2]] = pair[3]

    def _close(self) -> None:
        """What was collected is whole."""
        pairs, self._pairs = self._pairs, {}
        if self._section == _SYSTEM:
            self._system = pairs
        elif self._section == _METRICS and pairs:
            name = pairs.get("stressor", "")
            if not name or name in self._metrics or len(self._metrics) >= _MOST:
                raise corrupt(f"document: stressor {name[:80] or 'without a name'} stands twice or has none")
            self._metrics[name] = _metric(pairs)

    def _check(self) -> None:
        known = _VERSION.fullmatch(self._system.get("stress-ng-version", ""))
        if known is None or int(known[1]) not in _MINORS:
            version = self._system.get("stress-ng-version", "none")
            raise corrupt(f"version {version[:40]} of stress-ng: none whose output is known here")
        if not self._metrics:
            raise corrupt("document: no metrics")


def _metric(pairs: dict[str, str]) -> Metric:
    seconds = float(_word(pairs, "wall-clock-time", _FIGURE))
    if not 0 < seconds < _DAY_S:
        raise corrupt(f"document: wall-clock-time is {seconds:g}")
    return Metric(
        bogo_ops=int(_word(pairs, "bogo-ops", _COUNT)),
        per_second=float(_word(pairs, "bogo-ops-per-second-real-time", _FIGURE)),
        seconds=seconds,
    )


def _word(pairs: dict[str, str], key: str, form: re.Pattern[str]) -> str:
    word = pairs.get(key, "")
    if form.fullmatch(word) is None:
        raise corrupt(f"document: {key} is {word[:40] or 'not there'}")
    return word


def _names(names: object) -> str:
    return ", ".join(sorted(map(str, names))) if isinstance(names, (set, dict)) else str(names)
