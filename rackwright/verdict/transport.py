"""How NCCL really went, by its own log: a wrong way is a fault by its name, however fast it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rackwright.catalogue.model import Check
from rackwright.validate.model import Ended
from rackwright.verdict.evidence import BETWEEN_NODES
from rackwright.verdict.judgement import Judgement, Who, judged
from rackwright.verdict.matching import amount, within
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.validate.expectations import Expectation
    from rackwright.validate.model import Measurement, Step
    from rackwright.verdict.evidence import Evidence

SAID: Mapping[str, str] = {
    "network": "NCCL used network {got}, and {expected} is planned",
    "provider": "NCCL used provider {got}, and {expected} is planned",
    "nics": "NCCL used {got} NICs, and {expected} are planned",
    "gpudirect": "GPUs are not reached directly: GPUDirect RDMA is off",
    "nvls": "NVLink SHARP (NVLS) is not available",
}
"""What is wrong, in the order in which it explains the others."""


SENT = frozenset({"port_xmit_data", "tx_bytes"})
"""Counters of what a port has sent (Linux, infiniband and net statistics; EFA's own)."""


@dataclass(frozen=True)
class Transport:
    """NCCL's log of each node names the network, provider, NICs and GPUDirect that are planned."""

    name: ClassVar[str] = "transport"
    check: ClassVar[str] = Check.TRANSPORT
    kind: ClassVar[Kind] = Kind.NODE

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Each node whose ranks wrote a log."""
        found: dict[Who, list[Measurement]] = {}
        for name in SAID:
            for who, values in evidence.by_subject(self.check, name, self.kind).items():
                found.setdefault(who, []).extend(values)
        for who, values in found.items():
            yield self._of(who, values, evidence)

    def _of(self, who: Who, found: list[Measurement], evidence: Evidence) -> Judgement:
        bounds = [(one, bound) for one in found if (bound := evidence.bound(one)) is not None]
        wrong = [(one, bound) for one, bound in bounds if not within(one, bound)]
        if wrong:
            shown, bound = min(wrong, key=lambda pair: list(SAID).index(pair[0].name))
            cause = SAID[shown.name].format(got=shown.value, expected=_planned(bound))
            return judged(who, self.name, Value.FAIL, cause, found, shown=shown, expectation=bound)
        untold = sorted(self._wanted(found, evidence) - {one.name for one, _ in bounds})
        if untold or not bounds:
            cause = f"the log does not tell of {', '.join(untold)}" if untold else "nothing is planned of it"
            return judged(who, self.name, Value.NOT_RUN, cause, found)
        cause = ", ".join(f"{one.name} {one.value}" for one, _ in bounds)
        return judged(who, self.name, Value.PASS, cause, found)

    def _wanted(self, found: list[Measurement], evidence: Evidence) -> set[str]:
        """Names of which the plan expects something of this node."""
        return {
            one.key.name
            for one in evidence.expectations.expectations
            if one.key.check == self.check and evidence.bounds.are_kind_of(one.key, found)
        }


@dataclass(frozen=True)
class Traffic:
    """Something left a node over its ports: a fast test over shared memory proves none of them."""

    name: ClassVar[str] = "traffic"
    check: ClassVar[str] = Check.COUNTERS
    kind: ClassVar[Kind] = Kind.NODE

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Each node whose counters were read twice."""
        used = {node for step in evidence.run.steps if _goes_over_ports(step) for node in step.nodes}
        for who, found in evidence.by_subject(self.check, "growth", self.kind).items():
            sent = [one for one in found if one.context.parameters.get("counter") in SENT]
            if not sent:
                yield judged(
                    who, self.name, Value.NOT_RUN, "no counter of its ports tells what was sent", found
                )
                continue
            most = max(sent, key=amount)
            value, cause = Value.PASS, "its ports were used"
            if not amount(most):
                value, cause = _IDLE if who.name in used else _UNUSED
            yield judged(who, self.name, value, cause, sent, shown=most).expecting("something sent")


_IDLE = Value.FAIL, "nothing left its ports"
_UNUSED = Value.NOT_RUN, "it took part in nothing that would go over its ports"


def _goes_over_ports(step: Step) -> bool:
    """Whether a step came to its end that had several nodes exchange data."""
    return step.check in BETWEEN_NODES and step.ended is Ended.DONE and len(step.nodes) > 1


def _planned(bound: Expectation) -> str:
    return " or ".join(bound.one_of) if bound.one_of else f"{bound.nominal:g}"
