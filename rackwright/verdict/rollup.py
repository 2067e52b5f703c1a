"""Judgements in, subjects out: a rail's verdict weighs on its node, a node's on its site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.verdict.evidence import port_name
from rackwright.verdict.facts import action, filled
from rackwright.verdict.judgement import WORST, Judgement, Who, worst
from rackwright.verdict.model import Kind, Reason, Subject, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwright.validate.model import Measurement
    from rackwright.verdict.evidence import Evidence

NAME = "members"
MOST_NAMES = 10
_KINDS = tuple(Kind)


def subjects(evidence: Evidence, judgements: Iterable[Judgement]) -> tuple[Subject, ...]:
    """All subjects with their reasons, worst first."""
    found: dict[Who, list[Judgement]] = {}
    for judgement in judgements:
        found.setdefault(judgement.subject, []).append(judgement)
    rails = {who: _subject(evidence, who, found[who]) for who in found if who.kind is Kind.RAIL}
    nodes = _above(evidence, found, _ports(evidence), rails, Kind.NODE)
    sites = _above(evidence, found, _slots(evidence), nodes, Kind.SITE)
    partitions = _above(evidence, found, _partitions(evidence), nodes, Kind.PARTITION)
    links = {who: _subject(evidence, who, found[who]) for who in found if who.kind is Kind.LINK}
    every = (sites, links, partitions, nodes, rails)
    return tuple(sorted((one for made in every for one in made.values()), key=_rank))


def _partitions(evidence: Evidence) -> dict[Who, list[Who]]:
    """Partitions with their nodes, where there are several; of one alone its site says the same."""
    parts = evidence.run.partitions
    return {
        Who(Kind.PARTITION, name): [Who(Kind.NODE, node) for node in nodes]
        for name, nodes in parts.items()
        if len(parts) > 1
    }


def _ports(evidence: Evidence) -> dict[Who, list[Who]]:
    ports: dict[Who, list[Who]] = {Who(Kind.NODE, node): [] for node in evidence.asked}
    for port in evidence.run.rails:
        ports.setdefault(Who(Kind.NODE, port.node), []).append(Who(Kind.RAIL, port_name(port)))
    return ports


def _slots(evidence: Evidence) -> dict[Who, list[Who]]:
    return {
        Who(Kind.SITE, site): [Who(Kind.NODE, node) for node in nodes]
        for site, nodes in evidence.run.sites.items()
    }


def _above(
    evidence: Evidence,
    found: Mapping[Who, list[Judgement]],
    members: Mapping[Who, list[Who]],
    below: Mapping[Who, Subject],
    kind: Kind,
) -> dict[Who, Subject]:
    """Subjects of a kind, with what is below them; a site is one even where nothing was asked of it."""
    made: dict[Who, Subject] = {}
    for who, names in members.items():
        judged = [below[name] for name in names if name in below]
        racks = evidence.run.racks.get(who.name, {}) if kind is Kind.SITE else {}
        own = [*found.get(who, ()), *_of_members(who, judged, racks)]
        if own or kind is Kind.SITE:
            made[who] = _subject(evidence, who, own)
    return made


def _of_members(who: Who, judged: list[Subject], racks: Mapping[str, tuple[str, ...]]) -> list[Judgement]:
    """One reason for each verdict that members have, other than what the subject's own reasons say."""
    reasons = []
    others = [subject for subject in judged if _first(subject).explained_by != who.name]
    for value in WORST:
        having = [subject for subject in others if subject.verdict is value]
        if having and (value is not Value.PASS or len(having) == len(judged)):
            reasons.append(Judgement(who, _member_reason(value, having, racks)))
    return reasons


def _member_reason(value: Value, having: list[Subject], racks: Mapping[str, tuple[str, ...]]) -> Reason:
    names = [subject.name for subject in having]
    shown = ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "")
    if value is Value.PASS:
        return Reason(criterion=NAME, value=value, cause=f"all {len(names)} of its {having[0].kind}s pass")
    first = _first(having[0])
    several = f"{len(names)} {having[0].kind}s: {shown}{_whole_racks(names, racks)}"
    cause = f"{shown}: {first.cause}" if len(names) == 1 else several
    update = {"criterion": NAME, "value": value, "cause": cause, "explained_by": shown, "action": ""}
    return (
        first.model_copy(update=update)
        if len(names) == 1
        else Reason(criterion=NAME, value=value, cause=cause, explained_by=shown)
    )


def _whole_racks(names: Sequence[str], racks: Mapping[str, tuple[str, ...]]) -> str:
    """Racks of which all nodes are among these, where not all racks are: what they share may be at fault."""
    among = set(names)
    whole = [rack for rack, nodes in racks.items() if len(nodes) > 1 and among.issuperset(nodes)]
    if not whole or len(whole) == len(racks):
        return ""
    named = f"rack {whole[0]}" if len(whole) == 1 else f"racks {', '.join(whole)}"
    all_of_them = sum(len(racks[rack]) for rack in whole) == len(names)
    return f", {'which are' if all_of_them else 'among them'} all of {named}"


def _first(subject: Subject) -> Reason:
    """The reason that stands for a subject's verdict."""
    return next(reason for reason in subject.reasons if reason.value is subject.verdict)


def _subject(evidence: Evidence, who: Who, judgements: list[Judgement]) -> Subject:
    reasons = [_with_action(evidence, who, one.reason) for one in judgements]
    reasons.sort(key=lambda reason: (WORST.index(reason.value), bool(reason.explained_by)))
    if not reasons:
        cause = "nothing was asked of it, or of anything in it"
        reasons = [Reason(criterion="measured", value=Value.NOT_RUN, cause=cause)]
    return Subject(
        name=who.name,
        kind=who.kind,
        verdict=worst(reason.value for reason in reasons),
        reasons=tuple(reasons),
        measurements=_measurements(evidence, who, judgements),
    )


def _measurements(evidence: Evidence, who: Who, judgements: list[Judgement]) -> tuple[Measurement, ...]:
    """Those that reasons rest on, and a node's own that nothing judges."""
    own = evidence.of_node.get(who.name, []) if who.kind is Kind.NODE else []
    rest = [one for judgement in judgements for one in judgement.measurements]
    return tuple({id(one): one for one in (*rest, *own)}.values())


def _with_action(evidence: Evidence, who: Who, reason: Reason) -> Reason:
    """The same reason with what a person does next; a table of codes has said it already."""
    if reason.value is Value.PASS:
        return reason
    if reason.explained_by:
        return reason.model_copy(update={"action": f"Put right {reason.explained_by} first."})
    node = who.name.partition("/")[0]
    site = who.name if who.kind is Kind.SITE else evidence.site_of.get(node, "")
    kind = evidence.run.site_kinds.get(site, "any")
    if reason.action:
        return reason.model_copy(update={"action": filled(reason.action, who.name)})
    return reason.model_copy(update={"action": action(reason.criterion, kind, who.name)})


def _rank(subject: Subject) -> tuple[int, bool, int, str]:
    """Worst first; of equals those that are themselves at fault, then by kind and name."""
    explained = all(reason.explained_by for reason in subject.reasons if reason.value is subject.verdict)
    return WORST.index(subject.verdict), explained, _KINDS.index(subject.kind), subject.name
