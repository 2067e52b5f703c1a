"""The rules: what each is, what it looks at, and what it yields.

A rule is a function over a `SpecSubject` (or, with `plan_rule`, over a `PlanSubject`) that yields
a `Breach` for each place where its one sentence does not hold. It says nothing where a name leads
nowhere or a plan is missing: that is another rule's finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rackwright.findings import Finding, Level, SpecPath

if TYPE_CHECKING:
    from rackwright.catalogue.load import Catalogue
    from rackwright.findings import Place
    from rackwright.plan.model import Plan
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.load import LoadedSpec


@dataclass(frozen=True, slots=True)
class SpecSubject:
    """A spec that fits its schema, and what is known of hardware."""

    loaded: LoadedSpec
    catalogue: Catalogue

    @property
    def spec(self) -> ClusterSpec:
        """The spec itself."""
        return self.loaded.spec


@dataclass(frozen=True, slots=True)
class PlanSubject(SpecSubject):
    """The same, planned."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Breach:
    """One place where a rule does not hold."""

    path: SpecPath
    message: str
    got: str
    expected: str
    hint: str = ""
    """Empty is the rule's own remedy."""
    place: Place | None = None
    """Where it is not the spec that is wrong, but a file that it names."""


SpecRule: TypeAlias = Callable[[SpecSubject], Iterator[Breach]]
PlanRule: TypeAlias = Callable[[PlanSubject], Iterator[Breach]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What is known of a rule without running it."""

    code: str
    level: Level
    constraint: str
    """One sentence that holds wherever the rule is content."""
    remedy: str
    source: str
    needs_plan: bool

    def finding(self, breach: Breach) -> Finding:
        """A breach of this rule as everybody sees it."""
        return Finding(
            code=self.code,
            message=breach.message,
            path=breach.path,
            level=self.level,
            got=breach.got,
            expected=breach.expected,
            hint=breach.hint or self.remedy,
            source=self.source,
            place=breach.place,
        )


SPEC_RULES: dict[str, tuple[Rule, SpecRule]] = {}
PLAN_RULES: dict[str, tuple[Rule, PlanRule]] = {}


def rule(
    code: str, *, remedy: str, source: str, level: Level = Level.ERROR
) -> Callable[[SpecRule], SpecRule]:
    """Register a rule that a spec alone can break.

    Args:
        code: stable; a number is never used again.
        remedy: what to do where a breach says nothing better.
        source: who says so.
        level: how much a breach weighs.
    """

    def register(function: SpecRule) -> SpecRule:
        described = Rule(code, level, _constraint(function), remedy, source, needs_plan=False)
        _refuse_second(code)
        SPEC_RULES[code] = (described, function)
        return function

    return register


def plan_rule(
    code: str, *, remedy: str, source: str, level: Level = Level.ERROR
) -> Callable[[PlanRule], PlanRule]:
    """Register a rule that needs the plan; arguments as those of `rule`."""

    def register(function: PlanRule) -> PlanRule:
        described = Rule(code, level, _constraint(function), remedy, source, needs_plan=True)
        _refuse_second(code)
        PLAN_RULES[code] = (described, function)
        return function

    return register


def rules() -> list[Rule]:
    """All rules, by code."""
    described = [known for known, _ in (*SPEC_RULES.values(), *PLAN_RULES.values())]
    return sorted(described, key=lambda known: known.code)


def _constraint(function: Callable[..., object]) -> str:
    return (function.__doc__ or "").strip().splitlines()[0]


def _refuse_second(code: str) -> None:
    if code in SPEC_RULES or code in PLAN_RULES:
        msg = f"two rules have the code {code}"
        raise ValueError(msg)
