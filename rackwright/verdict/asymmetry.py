"""A port that sends and receives at different rates: one direction of a link may be ill alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rackwright.catalogue.model import Check
from rackwright.verdict.evidence import port_name
from rackwright.verdict.judgement import Judgement, Who, judged
from rackwright.verdict.matching import amount, within
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.validate.model import Measurement
    from rackwright.verdict.evidence import Evidence

LEAST = 0.7
"""Of the better direction that the other reaches, by the best partner in each; ours. Below the gate of
the lab's pairs, so that nothing that passes there fails here: between its hosts 0.9 and more were seen."""
FEWEST_PARTNERS = 2
"""With one partner nobody can tell whose fault it is."""


class _Ways(NamedTuple):
    """Values of a port by who sent."""

    sent: list[Measurement]
    received: list[Measurement]


@dataclass(frozen=True)
class Asymmetry:
    """A port sends about as fast as it receives, each by the best of its partners."""

    name: ClassVar[str] = "asymmetry"
    check: ClassVar[str] = Check.PAIRS

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Each port that was measured in both directions; of two ports alone, their site."""
        for (fabric, rail), ports in _by_rail(evidence).items():
            nodes = {node for node, ways in ports.items() if ways.sent and ways.received}
            uneven = {node: ways for node, ways in ports.items() if node in nodes and is_uneven(ways)}
            if len(ports) <= FEWEST_PARTNERS:
                yield from self._open(evidence, fabric, rail, uneven)
                continue
            for node in sorted(nodes):
                who = Who(Kind.RAIL, _name(evidence, node, fabric, rail))
                if not _below_figure(evidence, ports[node]):
                    yield self._of(who, ports[node], uneven=node in uneven)

    def _of(self, who: Who, ways: _Ways, *, uneven: bool) -> Judgement:
        sent, received = (max(found, key=amount) for found in ways)
        slow, fast = sorted((sent, received), key=amount)
        word = "sends" if slow is sent else "receives"
        cause = (
            f"{word} at no more than {amount(slow):g} where the other way it has {amount(fast):g}"
            if uneven
            else f"both ways alike, {amount(slow):g} and {amount(fast):g}"
        )
        value = Value.FAIL if uneven else Value.PASS
        found = judged(who, self.name, value, cause, [slow, fast], shown=slow)
        expected = f"at least {LEAST:g} of the other way's {amount(fast):g}"
        return found.expecting(expected, "measured: the port's other direction")

    def _open(
        self, evidence: Evidence, fabric: str, rail: int, uneven: dict[str, _Ways]
    ) -> Iterator[Judgement]:
        """Two ports that differ by direction: one sends ill, or the other receives ill."""
        for node, ways in sorted(uneven.items())[:1]:
            found = self._of(Who(Kind.SITE, evidence.site_of[node]), ways, uneven=True)
            ports = " and ".join(_name(evidence, other, fabric, rail) for other in sorted(uneven))
            cause = f"between {ports} one way is far slower than the other, and it is open which port it is"
            reason = found.reason.model_copy(update={"cause": cause})
            yield Judgement(found.subject, reason, found.measurements)


def is_uneven(ways: _Ways) -> bool:
    """Whether a port's best in one direction is far below its best in the other."""
    slow, fast = sorted(max(map(amount, found)) for found in ways)
    return slow < LEAST * fast


def _below_figure(evidence: Evidence, ways: _Ways) -> bool:
    """Whether a value misses its figure: that is told, by partners, where pairs are judged."""
    return any(
        (bound := evidence.bound(one)) is not None and not within(one, bound)
        for found in ways
        for one in found
    )


def _by_rail(evidence: Evidence) -> dict[tuple[str, int], dict[str, _Ways]]:
    """(fabric, rail) → node → its values, by direction."""
    found: dict[tuple[str, int], dict[str, _Ways]] = {}
    known = {(port.node, port.fabric, port.rail) for port in evidence.rails}
    for one in evidence.select(Check.PAIRS, "bandwidth"):
        context = one.context
        ends = (context.node, context.peer)
        sender, receiver = ends if context.direction == "forward" else ends[::-1]
        if context.fabric is None or context.rail is None or sender is None or receiver is None:
            continue
        place = context.fabric, context.rail
        if context.direction in {"forward", "reverse"} and {(sender, *place), (receiver, *place)} <= known:
            ports = found.setdefault(place, {})
            ports.setdefault(sender, _Ways([], [])).sent.append(one)
            ports.setdefault(receiver, _Ways([], [])).received.append(one)
    return found


def _name(evidence: Evidence, node: str, fabric: str, rail: int) -> str:
    return port_name(evidence.ports[node, fabric, rail])
