"""What was asked for and did not come: a step that brought nothing, a value that is missing from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.catalogue.model import Check
from rackwright.validate.model import Ended, Tool
from rackwright.verdict.evidence import output_of, unmeasured_value
from rackwright.verdict.judgement import Judgement, Who, unmeasured
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwright.validate.model import Measurement, Step
    from rackwright.verdict.evidence import Evidence

NAME = "measured"
KINDS: Mapping[str, Kind] = {
    Check.LINK: Kind.LINK,
    Check.LINKS: Kind.RAIL,
    Check.CLOCK: Kind.NODE,
    Check.MATRIX: Kind.NODE,
    Check.MEMORY: Kind.NODE,
    Check.DISK: Kind.NODE,
    Check.PAIRS: Kind.RAIL,
    Check.COLLECTIVES: Kind.SITE,
    Check.NCCL_TESTS: Kind.SITE,
    Check.NCCOM_TEST: Kind.SITE,
    Check.TRANSPORT: Kind.NODE,
    Check.KERNEL_LOG: Kind.NODE,
    Check.GPU_STATE: Kind.NODE,
    Check.DCGM_DIAG: Kind.NODE,
    Check.COUNTERS: Kind.NODE,
}
"""Whom a check is about."""
_LOCALISED = frozenset({Check.PAIRS, Check.COLLECTIVES})
"""Checks whose own criteria say whom a missing step concerns."""
_TOGETHER: Mapping[Tool, frozenset[str]] = {
    Tool.COLLECTIVES: frozenset({"busbw", "wrong"}),
    Tool.MATRIX: frozenset({"gflops", "wrong", "mismatches", "result_hash"}),
    Tool.STRESS_NG: frozenset({"failures", "bogo_ops"}),
    Tool.IPERF3: frozenset({"bandwidth"}),
    Tool.LINK: frozenset({"path_mtu", "black_hole"}),
    Tool.LINKS: frozenset({"carrier"}),
    Tool.CLOCK: frozenset({"offset"}),
    Tool.NCCL_TESTS: frozenset({"busbw"}),
    Tool.RCCL_TESTS: frozenset({"busbw"}),
    Tool.NCCOM_TEST: frozenset({"busbw"}),
}
"""Names that a tool gives together or not at all, for each thing it measures."""
_IN_ALL: Mapping[Tool, frozenset[str]] = {
    Tool.NCCL_LOG: frozenset({"network", "ranks"}),
    Tool.DMESG: frozenset({"events", "sealed"}),
    Tool.NVIDIA_SMI: frozenset({"gpus", "sealed"}),
    Tool.NVLINK: frozenset({"nvlink_gpus", "sealed"}),
    Tool.DCGM_DIAG: frozenset({"status"}),
    Tool.COUNTERS: frozenset({"ports"}),
}
"""Names without which an output of a tool is not whole, about whatever they are."""
_SEALED = frozenset({Tool.NVIDIA_SMI, Tool.NVLINK})
"""Tools whose output the suites seal, and of which no criterion tells that it was not: of the kernel's log
its own does, and NCCL's stands in the output of a test, which ends with words of its own."""
_ONLY_IF_ANY = frozenset({"latency", "wrong"})
"""Of a link over which nothing comes there is none, which its path MTU of nought says; and the parser of
nccl-tests knows in which halves of its rows wrong elements are looked for."""
_BOTH_WAYS = frozenset({"forward", "reverse"})


def judge(evidence: Evidence, failed: Iterable[str]) -> Iterator[Judgement]:
    """ERROR for each subject of which something is missing.

    Args:
        evidence: of the run.
        failed: paths of the artefacts that already stand for a FAIL.
    """
    blamed = set(failed)
    yield from _twice(evidence)
    yield from _unproven(evidence)
    for check in evidence.run.checks:
        yield from _unknown(evidence, check)
        if check not in _LOCALISED:
            for step in evidence.open_steps(check):
                cause = f"{check} was not measured: {evidence.problems[step.name]}"
                yield from _of_step(evidence, step, cause)
    for step in evidence.run.steps:
        if step.name not in evidence.problems:
            yield from _holes(evidence, step, blamed)


def _twice(evidence: Evidence) -> Iterator[Judgement]:
    """Steps of one name, of which nobody can say what was measured by which."""
    if len(evidence.steps) < len(evidence.run.steps):
        for site in evidence.run.sites:
            yield unmeasured(Who(Kind.SITE, site), NAME, "two steps of the run have one name")


def _unproven(evidence: Evidence) -> Iterator[Judgement]:
    """Slots of which nothing was asked but of their site's links: who is not looked at does not pass."""
    asked = {check: evidence.run.not_declared.get(check, ()) for check in evidence.run.checks}
    without = [frozenset(slots) for check, slots in asked.items() if check != Check.LINK]
    for node in evidence.nodes:
        if all(node in slots for slots in without):
            cause = "its platform declares no check of this suite: nothing is proven of it"
            yield unmeasured(Who(Kind.NODE, node), NAME, cause, value=Value.NOT_RUN)


def _unknown(evidence: Evidence, check: str) -> Iterator[Judgement]:
    """A check that was asked and that nothing here judges, or that has nobody to judge."""
    kind = KINDS.get(check)
    if kind is None:
        cause = f"{check} was asked for, and no criterion judges it"
    else:
        cause = f"{check} was asked for, and there is no {kind} to judge by it"
    for view in evidence.views(check):
        if kind is None or (view.nodes and not view.subjects(kind)):
            for site in view.run.sites:
                yield unmeasured(Who(Kind.SITE, site), NAME, cause, value=Value.NOT_RUN)


def _holes(evidence: Evidence, step: Step, blamed: set[str]) -> Iterator[Judgement]:
    """Values that a step's output should have given and did not."""
    brought = evidence.by_step.get(step.name, [])
    if not brought:
        yield from _of_step(evidence, step, f"{step.name} brought no value")
    elif not _has_all(step, brought):
        yield from _of_step(evidence, step, f"some values of {step.name} are missing")
    elif _may_be_cut(step, brought) and step.stdout and step.stdout.path not in blamed:
        cause = f"{step.name} has no last line: what it does not show may have been cut off"
        yield from _of_step(evidence, step, cause)
    elif step.ended is Ended.FAILED and step.stdout and step.stdout.path not in blamed:
        cause = f"{step.name} ended with status {step.exit_status}, which its output does not explain"
        yield from _of_step(evidence, step, cause)


def _may_be_cut(step: Step, brought: list[Measurement]) -> bool:
    """Whether an output lacks the last line by which it is whole."""
    return step.tool in _SEALED and any(one.name == "sealed" and one.value is not True for one in brought)


def _has_all(step: Step, brought: list[Measurement]) -> bool:
    """Whether nothing is missing that a tool gives with the rest."""
    if step.tool in _IN_ALL:
        return _IN_ALL[step.tool] <= {one.name for one in brought}
    return all(map(_is_whole, _groups(step, brought)))


def _groups(step: Step, brought: list[Measurement]) -> list[tuple[Tool, list[Measurement]]]:
    """Values of one thing each."""
    groups: dict[str, list[Measurement]] = {}
    for one in brought:
        context = one.context.model_copy(update={"direction": None})
        groups.setdefault(context.model_dump_json(), []).append(one)
    return [(step.tool, group) for group in groups.values()]


def _is_whole(group: tuple[Tool, list[Measurement]]) -> bool:
    tool, values = group
    names = {one.name for one in values}
    if tool is Tool.FIO:
        return _is_whole_fio(values, names)
    if tool is Tool.IPERF3 and values[0].context.parameters.get("mode") == "bidir":
        return {one.context.direction for one in values} == _BOTH_WAYS
    wanted = _TOGETHER.get(tool, names)  # of a tool that no suite asks nothing is known to come together
    return names - (_ONLY_IF_ANY - wanted) == wanted


def _is_whole_fio(values: list[Measurement], names: set[str]) -> bool:
    """Data that does not verify has no bandwidth; what was written and verified has both."""
    errors = next((one.value for one in values if one.name == "verify_errors"), None)
    if errors:
        return True
    wanted = {"verify_errors", "read_bandwidth"}
    writes = "write" in str(values[0].context.parameters.get("rw", ""))
    return names == (wanted | {"write_bandwidth"} if writes else wanted)


def _of_step(evidence: Evidence, step: Step, cause: str) -> Iterator[Judgement]:
    for who in evidence.subjects_of(step, KINDS.get(step.check, Kind.SITE)):
        value, lost = unmeasured_value(step), ", ".join(step.lost)
        yield unmeasured(who, NAME, cause, output_of(step), value=value, explained_by=lost)
