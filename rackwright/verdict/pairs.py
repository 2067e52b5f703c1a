"""Bandwidth between pairs on each rail: which port is slow or cut, by intersection over its pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

from rackwright.catalogue.model import Check
from rackwright.verdict.evidence import Evidence, output_of, port_name, unmeasured_value
from rackwright.verdict.facts import UNREACHABLE
from rackwright.verdict.judgement import Judgement, Who, judged, unmeasured
from rackwright.verdict.localise import Located, Pair, locate, pair
from rackwright.verdict.matching import amount, within
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.validate.model import Measurement, Rail, Step

ALL_PAIRS = 16
"""Up to so many nodes every pair must have been measured; above, each port in several."""
FEWEST_PARTNERS = 2


@dataclass(frozen=True)
class PairBandwidth:
    """Each port reaches the expected bandwidth to its partners."""

    name: ClassVar[str] = "pair-bandwidth"
    check: ClassVar[str] = Check.PAIRS
    kind: ClassVar[Kind] = Kind.RAIL

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Rail by rail."""
        rails = {(port.fabric, port.rail) for port in evidence.rails}
        for fabric, rail in sorted(rails):
            yield from _OneRail(evidence, fabric, rail).judge()


@dataclass(frozen=True)
class _OneRail:
    """All pairs of one rail."""

    evidence: Evidence
    fabric: str
    rail: int

    def judge(self) -> Iterator[Judgement]:
        """Each port, and the site where no port could be singled out."""
        if not all(self.evidence.bound(one) for found in self.measured.values() for one in found):
            cause = "there is no figure that bandwidth could be held against"
            for node in self.ports:
                values = [one for found in self._of_node(node).values() for one in found]
                yield judged(self._who(node), PairBandwidth.name, Value.NOT_RUN, cause, values)
            return
        for node in self.ports:
            yield self._port(node)
        yield from self._site()

    @cached_property
    def ports(self) -> Mapping[str, Rail]:
        """Node → its port here."""
        here = [port for port in self.evidence.rails if (port.fabric, port.rail) == (self.fabric, self.rail)]
        return {port.node: port for port in here}

    @cached_property
    def measured(self) -> Mapping[Pair, list[Measurement]]:
        """Values of each pair of judged ports, in both directions."""
        found: dict[Pair, list[Measurement]] = {}
        for one in self.evidence.select(Check.PAIRS, "bandwidth"):
            context = one.context
            here = (context.fabric, context.rail) == (self.fabric, self.rail)
            if here and context.node in self.ports and context.peer in self.ports:
                found.setdefault(pair(context.node or "", context.peer or ""), []).append(one)
        return found

    @cached_property
    def _partners(self) -> Mapping[str, list[Pair]]:
        """Node → pairs of it that were measured, tried, or are lacking."""
        found: dict[str, list[Pair]] = {}
        for ends in dict.fromkeys((*self.measured, *self.open_steps, *sorted(self.missing, key=str))):
            for node in ends.ends:
                found.setdefault(node, []).append(ends)
        return found

    def _of_node(self, node: str) -> Mapping[Pair, list[Measurement]]:
        """Values of each pair of a node."""
        mine = self._partners.get(node, ())
        return {ends: self.measured[ends] for ends in mine if ends in self.measured}

    @cached_property
    def open_steps(self) -> Mapping[Pair, Step]:
        """Pairs of judged ports that were tried and brought nothing."""
        return {
            pair(*step.nodes): step
            for step in self.evidence.open_steps(Check.PAIRS)
            if (step.context.fabric, step.context.rail) == (self.fabric, self.rail)
            and len(set(step.nodes)) == len(step.nodes) == len(Pair.__dataclass_fields__)
            and all(node in self.ports for node in step.nodes)
        }

    @cached_property
    def whole(self) -> frozenset[Pair]:
        """Pairs that were measured in both directions."""
        return frozenset(ends for ends, found in self.measured.items() if len(set(map(_way, found))) > 1)

    @cached_property
    def cut(self) -> frozenset[Pair]:
        """Pairs whose ends did not reach each other, as the tool says."""
        return frozenset(
            ends
            for ends, step in self.open_steps.items()
            if any(phrase in self.evidence.problems[step.name] for phrase in UNREACHABLE)
        )

    @cached_property
    def dark(self) -> frozenset[str]:
        """Nodes whose port here has no carrier."""
        return frozenset(
            one.context.node or ""
            for one in self.evidence.select(Check.LINKS, "carrier")
            if (one.context.fabric, one.context.rail) == (self.fabric, self.rail) and one.value is False
        )

    @cached_property
    def bad(self) -> frozenset[Pair]:
        """Pairs that are slow in a direction, or cut."""
        slow = {ends for ends, found in self.measured.items() if any(map(self._below, found))}
        return self.cut | slow

    @cached_property
    def located(self) -> Located:
        """Who is to blame; ports without a carrier are known already and are no evidence on others."""
        good = self.whole - self.bad
        return locate(*({ends for ends in some if not ends.ends & self.dark} for some in (good, self.bad)))

    @cached_property
    def suspects(self) -> frozenset[Pair]:
        """Bad pairs of which it is open which end it is."""
        return frozenset(self.located.suspects)

    @cached_property
    def faulty(self) -> frozenset[str]:
        """Ports that are bad for sure."""
        return self.dark | self.located.blamed

    @cached_property
    def missing(self) -> frozenset[Pair]:
        """Pairs that should have been measured, between ports that are not known to be bad."""
        wanted = {*self.open_steps, *self.measured}
        if len(self.ports) <= ALL_PAIRS:
            wanted = {pair(*ends) for ends in combinations(self.ports, 2)}
        lacking = wanted - self.whole - self.bad
        return frozenset(one for one in lacking if not one.ends & self.faulty)

    def _port(self, node: str) -> Judgement:
        values = [one for found in self._of_node(node).values() for one in found]
        mine = self._partners.get(node, ())
        if node in self.faulty:
            return self._faulty(node, values)
        suspect = min((ends for ends in mine if ends in self.suspects), key=Pair.key, default=None)
        if suspect is not None:
            other = next(iter(suspect.ends - {node}))
            cause = f"slow or cut to {self._port_of(other)}, and it is open which of the two it is"
            return judged(self._who(node), PairBandwidth.name, Value.NOT_RUN, cause, values)
        lacking = min((ends for ends in mine if ends in self.missing), key=Pair.key, default=None)
        if lacking is not None:
            return self._lacking(node, lacking)
        return self._good_or_alone(node, values)

    def _faulty(self, node: str, values: list[Measurement]) -> Judgement:
        who, interface = self._who(node), self.ports[node].interface
        below = sorted(filter(self._below, values), key=amount)
        if node in self.dark or not below:
            cause = f"{interface} reaches none of its partners"
            cause += ", for it has no carrier" if node in self.dark else ", and these reach each other"
            mine = self._partners.get(node, ())
            steps = [self.open_steps[ends] for ends in mine if ends in self.open_steps]
            found = unmeasured(
                who,
                PairBandwidth.name,
                cause,
                [one for step in steps for one in output_of(step)],
                value=Value.FAIL,
                explained_by=who.name if node in self.dark else "",
            )
            update = {"measured": "no connection", "expected": "a connection"}
            return Judgement(who, found.reason.model_copy(update=update), tuple(values))
        shown = below[0]
        partners = [ends for ends in self._partners[node] if ends in self.bad]
        cause = f"{interface} is slow to {_all(len(partners))}, and these are not slow to each other"
        bound = self.evidence.bound(shown)
        return judged(who, PairBandwidth.name, Value.FAIL, cause, values, shown=shown, expectation=bound)

    def _lacking(self, node: str, lacking: Pair) -> Judgement:
        other = next(iter(lacking.ends - {node}))
        step = self.open_steps.get(lacking)
        why = self.evidence.problems[step.name] if step else "no step of the run did, in both directions"
        cause = f"not measured to {self._port_of(other)}: {why}"
        output = output_of(step) if step else ()
        return unmeasured(self._who(node), PairBandwidth.name, cause, output, value=unmeasured_value(step))

    def _good_or_alone(self, node: str, values: list[Measurement]) -> Judgement:
        who = self._who(node)
        good = [ends for ends in self._of_node(node) if ends in self.whole and ends not in self.bad]
        fewest = 1 if len(self.ports) <= ALL_PAIRS else FEWEST_PARTNERS
        if len(good) < fewest:
            fault = min(self.faulty, default="")
            partners = "1 good partner" if len(good) == 1 else f"{len(good)} good partners"
            cause = f"measured against {partners}: too few to tell"
            explained = self._port_of(fault) if fault else ""
            return unmeasured(who, PairBandwidth.name, cause, value=Value.NOT_RUN, explained_by=explained)
        fine = [one for ends in good for one in self.measured[ends]]
        shown = min(fine, key=amount)
        cause = f"good to {_all(len(good))}"
        bound = self.evidence.bound(shown)
        return judged(who, PairBandwidth.name, Value.PASS, cause, values, shown=shown, expectation=bound)

    def _site(self) -> Iterator[Judgement]:
        """Faults of which no port can be blamed alone."""
        if not self.located.suspects:
            return
        suspects = self.located.suspects
        named = sorted({self._port_of(end) for ends in suspects for end in ends.ends})
        values = [one for ends in suspects for one in self.measured.get(ends, ())]
        below = sorted(filter(self._below, values), key=amount)
        cause = f"slow or cut between {', '.join(named)}: these pairs do not tell which of them is at fault"
        sites = {self.evidence.site_of[end] for ends in suspects for end in ends.ends}
        for site in sorted(sites):
            shown = below[0] if below else None
            bound = self.evidence.bound(shown) if shown else None
            who = Who(Kind.SITE, site)
            yield judged(who, PairBandwidth.name, Value.FAIL, cause, values, shown=shown, expectation=bound)

    def _below(self, measurement: Measurement) -> bool:
        bound = self.evidence.bound(measurement)
        return bound is not None and not within(measurement, bound)

    def _port_of(self, node: str) -> str:
        return port_name(self.ports[node])

    def _who(self, node: str) -> Who:
        return Who(Kind.RAIL, self._port_of(node))


def _way(measurement: Measurement) -> tuple[str | None, str | None]:
    """Who sent, and to whom."""
    context = measurement.context
    ways = {"forward": (context.node, context.peer), "reverse": (context.peer, context.node)}
    return ways.get(context.direction or "", (None, None))


def _all(count: int) -> str:
    words = {1: "its one partner", 2: "both of its partners"}
    return words.get(count, f"all {count} of its partners")
