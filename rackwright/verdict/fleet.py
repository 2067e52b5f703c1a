"""A fleet against itself: who is far below the median, where enough nodes of one platform were measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, ClassVar

from rackwright.catalogue.model import Check
from rackwright.verdict.evidence import port_name
from rackwright.verdict.judgement import Judgement, Who, judged
from rackwright.verdict.matching import amount, within
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.validate.expectations import Expectation
    from rackwright.validate.model import Measurement
    from rackwright.verdict.evidence import Evidence

FEWEST = 8
"""Survivors below which a median says nothing (docs/verdict.md)."""
FAR = 3.5
"""Modified z-score of an outlier: Iglewicz and Hoaglin, How to detect and handle outliers (1993)."""
_NORMAL = 0.6745
"""MAD of a standard normal distribution."""
NOTABLE = 0.9
"""Share of the median that no outlier reaches: where all are nearly equal, the nearly equal is no fault."""
BEST_ON_NODE = 0.8
"""Share of a node's best rail that each of its rails reaches; ours, of 90 to 101 % seen in the lab."""

SPEEDS: tuple[tuple[str, str], ...] = (
    (Check.MATRIX, "gflops"),
    (Check.MEMORY, "bogo_ops"),
    (Check.DISK, "read_bandwidth"),
    (Check.DISK, "write_bandwidth"),
)
"""Check and measurement of a node where more is better."""


def outliers(values: Mapping[str, float]) -> frozenset[str]:
    """Who is far below the median of all; nobody where fewer than 8 are known."""
    if len(values) < FEWEST:
        return frozenset()
    middle = median(values.values())
    deviation = median(abs(value - middle) for value in values.values())
    return frozenset(
        name
        for name, value in values.items()
        if value < NOTABLE * middle and _NORMAL * (middle - value) > FAR * deviation
    )


def below_best(values: Mapping[str, float]) -> frozenset[str]:
    """Who is far below the best of the same node."""
    best = max(values.values(), default=0.0)
    return frozenset(name for name, value in values.items() if value < BEST_ON_NODE * best)


def not_applicable(evidence: Evidence) -> dict[str, str]:
    """Why these criteria are not applied here, or not to all; empty where they are."""
    few = [words for words, count in _fleets(evidence) if count < FEWEST]
    reason = f"{', '.join(few)} were measured; against a fleet one is judged from {FEWEST} on"
    criteria = ("fleet-outlier", "best-on-node") if len(evidence.nodes) < FEWEST else ("fleet-outlier",)
    together = sorted({check for check, _ in SPEEDS} & set(evidence.run.together))
    shared = "several nodes were measured at once: where they share anything, they measured one another"
    return {
        **{f"fleet-outlier: {check}": shared for check in together},
        **(dict.fromkeys(criteria, reason) if few else {}),
    }


def _fleets(evidence: Evidence) -> list[tuple[str, int]]:
    """In words, and how many nodes: of each platform, where there are several."""
    platforms = evidence.run.platforms
    fleets = {name: len(set(nodes) & set(evidence.nodes)) for name, nodes in platforms.items()}
    if len(fleets) > 1:
        return [(f"{count} nodes of {name}", count) for name, count in sorted(fleets.items())]
    return [(f"{len(evidence.nodes)} nodes", len(evidence.nodes))]


@dataclass(frozen=True)
class Speed:
    """A node reaches the figures that are known for its speed, and the median of its fleet.

    Where the median itself is below the figure, what is wrong is common to all: the site fails and
    no node is blamed.
    """

    name: ClassVar[str] = "speed"

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """All nodes, speed by speed."""
        for check, name in SPEEDS:
            if check in evidence.run.checks:
                apart = check not in evidence.run.together
                for values in _comparable(evidence, check, name):
                    yield from _Fleet(evidence, name, values, apart=apart).judge()


def _comparable(evidence: Evidence, check: str, name: str) -> list[dict[str, Measurement]]:
    """Values by node, apart by platform and by what was measured; of several of a node the last."""
    groups: dict[str, dict[str, Measurement]] = {}
    for one in evidence.select(check, name):
        node = one.context.node
        if node is not None and node in evidence.judged:
            fixed = {key: value for key, value in one.context.parameters.items() if key != "iterations"}
            alike = f"{evidence.bounds.platform(one)} {one.context.pattern} {sorted(fixed.items())}"
            groups.setdefault(alike, {})[node] = one
    return list(groups.values())


@dataclass(frozen=True)
class _Fleet:
    """Values of one speed, by node, and whether each was measured while no other was."""

    evidence: Evidence
    name: str
    values: dict[str, Measurement]
    apart: bool

    def judge(self) -> Iterator[Judgement]:
        """Common mode first: it takes the blame from the nodes."""
        if self._is_common():
            yield from self._common()
            return
        for node, one in self.values.items():
            bound = self.evidence.bound(one)
            if bound is not None:
                value, cause = _against(one, bound)
                said = f"{self.name} {cause}"
                yield judged(Who(Kind.NODE, node), "speed", value, said, [one], shown=one, expectation=bound)
        yield from self._outliers()

    def _is_common(self) -> bool:
        known = [bound for one in self.values.values() if (bound := self.evidence.bound(one)) is not None]
        least = [bound.at_least for bound in known if bound.at_least is not None]
        return len(self.values) >= FEWEST and bool(least) and self.median < min(least)

    @cached_property
    def median(self) -> float:
        """Of all of them."""
        return median(map(amount, self.values.values()))

    def _common(self) -> Iterator[Judgement]:
        found = list(self.values.values())
        shown = min(found, key=lambda one: abs(amount(one) - self.median))
        bound = self.evidence.bound(shown)
        cause = f"the median {self.name} of {len(found)} nodes is below the figure: it is common to all"
        for site in sorted({self.evidence.site_of[node] for node in self.values}):
            yield judged(
                Who(Kind.SITE, site),
                "fleet-common",
                Value.FAIL,
                cause,
                found,
                shown=shown,
                expectation=bound,
            )
        for node, one in self.values.items():
            said = f"{self.name} is not held against a node while the whole fleet is below the figure"
            yield judged(Who(Kind.NODE, node), "fleet-common", Value.NOT_RUN, said, [one], shown=one)

    def _outliers(self) -> Iterator[Judgement]:
        if len(self.values) < FEWEST or not self.apart:
            return
        far = outliers({node: amount(one) for node, one in self.values.items()})
        for node, one in self.values.items():
            middle = f"the median {self.median:g} {one.unit} of {len(self.values)} nodes"
            value = Value.FAIL if node in far else Value.PASS
            cause = (
                f"{self.name} is far below the fleet" if node in far else f"{self.name} is that of the fleet"
            )
            found = judged(Who(Kind.NODE, node), "fleet-outlier", value, cause, [one], shown=one)
            yield found.expecting(f"about {middle}", "measured: the fleet itself")


def _against(one: Measurement, bound: Expectation) -> tuple[Value, str]:
    if within(one, bound):
        return Value.PASS, "reaches its figure"
    slow = bound.at_least is not None and amount(one) < bound.at_least
    return Value.FAIL, "is too slow" if slow else "is above its figure"


@dataclass(frozen=True)
class BestOnNode:
    """No rail of a node is far below the node's best one."""

    name: ClassVar[str] = "best-on-node"

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Each port with values, where the fleet is big enough."""
        if Check.PAIRS not in evidence.run.checks or len(evidence.nodes) < FEWEST:
            return
        ports = _port_medians(evidence)
        for node in evidence.nodes:
            names = (Who(Kind.RAIL, port_name(port)) for port in evidence.ports_of.get(node, ()))
            mine = {who: ports[who] for who in names if who in ports}
            far = below_best({who.name: value for who, (value, _) in mine.items()})
            best = max((value for value, _ in mine.values()), default=0.0)
            for who, (value, shown) in mine.items():
                verdict = Value.FAIL if who.name in far else Value.PASS
                cause = f"{value:g} where the best rail of the node has {best:g}"
                found = judged(who, self.name, verdict, cause, [shown], shown=shown)
                expected = f"at least {BEST_ON_NODE:g} of the node's best rail"
                yield found.expecting(expected, "measured: the node itself")


def _port_medians(evidence: Evidence) -> dict[Who, tuple[float, Measurement]]:
    """Median over a port's pairs, with the value next to it."""
    found: dict[Who, list[Measurement]] = {}
    for one in evidence.select(Check.PAIRS, "bandwidth"):
        for node in (one.context.node, one.context.peer):
            end = one.model_copy(update={"context": one.context.model_copy(update={"node": node})})
            for who in evidence.about(end, Kind.RAIL):
                found.setdefault(who, []).append(one)
    middles = {who: median(map(amount, values)) for who, values in found.items()}
    return {
        who: (middle, min(found[who], key=lambda one: abs(amount(one) - middle)))
        for who, middle in middles.items()
    }
