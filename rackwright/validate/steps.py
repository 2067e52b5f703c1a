"""A check and the nodes that are left in, batches of steps out: those that are made at the same time.

A check is planned when its turn comes, with what is known by then of lost nodes and of rails without
a carrier: nothing waits for what is gone, and what is left out is told with its reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rackwright.catalogue.model import Check
from rackwright.validate import commands
from rackwright.validate.model import Context, Tool
from rackwright.validate.parsers.core.nccl import PROGRAMS
from rackwright.validate.suite import (
    Clock,
    Collectives,
    Counters,
    DcgmDiag,
    Disk,
    GpuState,
    KernelLog,
    Link,
    Links,
    Matrix,
    Memory,
    NcclTests,
    NccomTest,
    Pairs,
    Transport,
)
from rackwright.validate.tournament import rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rackwright.validate.asked import Node, Port, Way
    from rackwright.validate.commands import Task
    from rackwright.validate.model import Step
    from rackwright.validate.suite import AnyCheck

FEWEST = 2
"""Nodes without which there is nothing to exchange."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A step that is to be made, or that cannot be and says why."""

    name: str
    check: str
    tool: Tool
    context: Context
    nodes: tuple[str, ...]
    task: Task | None
    """None where it cannot be made."""
    reason: str = ""


Batch = tuple[Planned, ...]


@dataclass(frozen=True, slots=True)
class Ground:
    """What is left of the nodes.

    Args:
        nodes: that answer, in order.
        down: (node, fabric, rail) of ports without a carrier.
        mpi: environment of every step that uses Open MPI.
    """

    nodes: Sequence[Node]
    down: frozenset[tuple[str, str, int]] = field(default_factory=frozenset)
    mpi: Mapping[str, str] = field(default_factory=dict)
    ways: Sequence[Way] = ()
    """Links between sites that were asked for."""
    beyond: Sequence[Node] = ()
    """Nodes of other sites that may be asked, those that answer Slurm first."""
    run: str = "none"
    """When the run began, by which it is told from others on a host."""

    def rails(self) -> list[tuple[str, int]]:
        """(fabric, rail) of all ports, sorted."""
        return sorted({(port.fabric, port.rail) for node in self.nodes for port in node.ports})


def batches(check: AnyCheck, ground: Ground) -> Iterator[Batch]:
    """The steps of a check, in the order in which their batches are made."""
    if isinstance(check, NcclTests | NccomTest) and not ground.nodes:  # all were lost before its turn
        tool = Tool.NCCL_TESTS if isinstance(check, NcclTests) else Tool.NCCOM_TEST
        nobody = Planned(check.check, check.check, tool, Context(), (), None, reason="no node is left")
        return iter([(nobody,)])
    return _PLANNERS[type(check)](check, ground)


def _names(nodes: Sequence[Node]) -> tuple[str, ...]:
    return tuple(node.name for node in nodes)


def in_order(checks: Sequence[AnyCheck]) -> tuple[AnyCheck, ...]:
    """Checks as they are made: what is looked at before a load and after it comes once more, at the end."""
    closing = (check.model_copy(update={"after": True}) for check in checks if isinstance(check, Counters))
    return (*checks, *closing)


def _of_each(
    check: Links | Matrix | Memory | Disk | Counters | KernelLog | GpuState | DcgmDiag,
    tool: Tool,
    ground: Ground,
    task: Callable[[Node], Task],
    below: str = "",
) -> Iterator[Batch]:
    """One step a node, some nodes at once; `below` stands in their names."""
    for start in range(0, len(ground.nodes), check.at_once):
        yield tuple(
            Planned(
                name=f"{check.check}/{below}{node.name}",
                check=check.check,
                tool=tool,
                context=Context(node=node.name),
                nodes=(node.name,),
                task=task(node),
            )
            for node in ground.nodes[start : start + check.at_once]
        )


def _links(check: Links, ground: Ground) -> Iterator[Batch]:
    with_ports = Ground([node for node in ground.nodes if node.ports])
    return _of_each(
        check, Tool.LINKS, with_ports, lambda node: commands.links([port.interface for port in node.ports])
    )


def _link(check: Link, ground: Ground) -> Iterator[Batch]:
    """From the first node of a site that a link begins in to the first of the site that it ends in."""
    steps = [
        _over_link(check, way, next(node for node in ground.nodes if node.site == site), ground)
        for way in ground.ways
        for site in sorted({node.site for node in ground.nodes})
        if way.beyond(site)
    ]
    if steps:
        yield tuple(steps)


def _over_link(check: Link, way: Way, node: Node, ground: Ground) -> Planned:
    there = way.beyond(node.site)
    target = next((one for one in ground.beyond if one.site == there and one.management_address), None)
    task = commands.link(check, target.name, target.management_address, way.mtu) if target else None
    return Planned(
        name=f"link/{way.link}/{node.name}+{target.name if target else there}",
        check=check.check,
        tool=Tool.LINK,
        context=Context(node=node.name, peer=target.name if target else None, link=way.link),
        nodes=(node.name,),
        task=task,
        reason="" if target else f"no node of {there} is there to answer",
    )


def _matrix(check: Matrix, ground: Ground) -> Iterator[Batch]:
    return _of_each(check, Tool.MATRIX, ground, lambda _: commands.matrix(check))


def _memory(check: Memory, ground: Ground) -> Iterator[Batch]:
    return _of_each(check, Tool.STRESS_NG, ground, lambda node: commands.memory(check, node.memory_mib))


def _disk(check: Disk, ground: Ground) -> Iterator[Batch]:
    return _of_each(check, Tool.FIO, ground, lambda _: commands.disk(check))


def _clock(check: Clock, ground: Ground) -> Iterator[Batch]:
    if len(ground.nodes) < FEWEST:
        yield (_alone(check, "clock", Tool.CLOCK, ground.nodes, Context()),)
        return
    interfaces = {node.management_interface for node in ground.nodes}
    interface = interfaces.pop() if len(interfaces) == 1 else None
    yield (
        Planned(
            name="clock",
            check=check.check,
            tool=Tool.CLOCK,
            context=Context(nodes=_names(ground.nodes)),
            nodes=_names(ground.nodes),
            task=commands.clock(check.questions, interface, ground.mpi),
        ),
    )


def _alone(
    check: Clock | Collectives,
    name: str,
    tool: Tool,
    nodes: Sequence[Node],
    context: Context,
) -> Planned:
    """A step for which there is no partner."""
    return Planned(
        name=name,
        check=check.check,
        tool=tool,
        context=context.over(Context(nodes=_names(nodes))),
        nodes=_names(nodes),
        task=None,
        reason=f"{len(nodes)} node{'s' if len(nodes) != 1 else ''} left, and it takes {FEWEST}",
    )


def _pairs(check: Pairs, ground: Ground) -> Iterator[Batch]:
    """Rounds of disjoint pairs; the rails of a round at once or one after the other, then the other way."""
    for round_ in rounds(_names(ground.nodes), check.partners):
        for rails in _grouped(ground.rails(), at_once=check.rails_at_once):
            for direction in ("forward", "reverse"):
                steps = tuple(
                    step
                    for pair in round_
                    for fabric, rail in rails
                    for step in _pair(check, ground, pair, (fabric, rail), direction)
                )
                if steps:
                    yield steps


def _grouped(rails: list[tuple[str, int]], *, at_once: bool) -> list[list[tuple[str, int]]]:
    return [rails] if at_once else [[rail] for rail in rails]


def _pair(
    check: Pairs, ground: Ground, pair: tuple[str, str], place: tuple[str, int], direction: str
) -> Iterator[Planned]:
    """The step of a pair on a rail, if both are on it."""
    nodes = {node.name: node for node in ground.nodes}
    one, other = (nodes[name].port(*place) for name in pair)
    if one is None or other is None or not (one.address and other.address):
        return
    dark = [name for name in pair if (name, *place) in ground.down]
    task = commands.pair(
        check, pair[1], (one.address, other.address), place[1], reverse=direction == "reverse"
    )
    yield Planned(
        name=f"pairs/{place[0]}-{place[1]}/{pair[0]}+{pair[1]}/{direction}",
        check=check.check,
        tool=Tool.IPERF3,
        context=Context(node=pair[0], peer=pair[1], fabric=place[0], rail=place[1], direction=direction),
        nodes=pair,
        task=None if dark else task,
        reason=_no_carrier(dark, place) if dark else "",
    )


def _no_carrier(names: Sequence[str], place: tuple[str, int]) -> str:
    return f"{', '.join(names)} has no carrier on rail {place[1]} of {place[0]}"


def _collectives(check: Collectives, ground: Ground) -> Iterator[Batch]:
    """Each rail alone, then all rails of a fabric; a node whose port is dark is left out where it counts."""
    for fabric in sorted({fabric for fabric, _ in ground.rails()}):
        rails = [rail for name, rail in ground.rails() if name == fabric]
        for rail in rails:
            yield from _over(check, ground, fabric, [rail])
        if len(rails) > 1:
            yield from _over(check, ground, fabric, rails)


def _over(check: Collectives, ground: Ground, fabric: str, rails: list[int]) -> Iterator[Batch]:
    alone = rails[0] if len(rails) == 1 else None
    name = f"collectives/{fabric}" + (f"-{alone}" if alone is not None else "")
    context = Context(fabric=fabric, rail=alone)
    nodes = [node for node in ground.nodes if all(node.port(fabric, rail) for rail in rails)]
    dark = {node.name: rail for rail in rails for node in nodes if (node.name, fabric, rail) in ground.down}
    fit = [node for node in nodes if node.name not in dark]
    for node, rail in dark.items():
        yield (_left_out(check, name, context, node, _no_carrier([node], (fabric, rail))),)
    if len(fit) < FEWEST:
        yield (_alone(check, name, Tool.COLLECTIVES, fit, context),)
        return
    interfaces = sorted(
        {port.interface for node in fit for rail in rails for port in _ports(node, fabric, rail)}
    )
    task = commands.collectives(check, interfaces, ground.mpi)
    whole = context.over(Context(nodes=_names(fit)))
    yield (Planned(name, check.check, Tool.COLLECTIVES, whole, _names(fit), task),)


def _ports(node: Node, fabric: str, rail: int) -> Iterator[Port]:
    port = node.port(fabric, rail)
    if port is not None:
        yield port


def _left_out(check: Collectives, name: str, context: Context, node: str, reason: str) -> Planned:
    return Planned(
        name=f"{name}/{node}",
        check=check.check,
        tool=Tool.COLLECTIVES,
        context=context.over(Context(node=node)),
        nodes=(node,),
        task=None,
        reason=reason,
    )


def _nccl_tests(check: NcclTests, ground: Ground) -> Iterator[Batch]:
    accelerators = min(node.accelerators for node in ground.nodes)
    for program in check.programs:
        task = commands.nccl_test(check, program, accelerators)
        about = Context(collective=PROGRAMS.get(program), ranks=len(ground.nodes) * accelerators)
        for number in range(1, check.repeats + 1):
            name = f"nccl-tests/{program}" + (f"/repeat-{number}" if number > 1 else "")
            yield (_of_all(check, name, Tool.NCCL_TESTS, ground, task, about),)


def _nccom_test(check: NccomTest, ground: Ground) -> Iterator[Batch]:
    accelerators = min(node.accelerators for node in ground.nodes)
    addresses = [node.management_address or node.name for node in ground.nodes]
    for collective in check.collectives:
        task = commands.nccom_test(check, collective, addresses, accelerators)
        ranks = len(addresses) * accelerators * check.ranks_per_accelerator
        about = Context(collective=_NCCOM.get(collective), ranks=ranks)
        yield (_of_all(check, f"nccom-test/{collective}", Tool.NCCOM_TEST, ground, task, about),)


def also_read(step: Step, checks: Iterable[AnyCheck]) -> Step | None:
    """The same output as another check's, where a tool's log stands in it; None where nobody asks for it."""
    if step.tool is not Tool.NCCL_TESTS or not any(isinstance(check, Transport) for check in checks):
        return None
    name = Check.TRANSPORT.value
    context = step.context.model_copy(update={"collective": None})
    return step.model_copy(
        update={
            "name": step.name.replace(step.check, name, 1),
            "check": name,
            "tool": Tool.NCCL_LOG,
            "context": context,
        }
    )


def _counters(check: Counters, ground: Ground) -> Iterator[Batch]:
    return _of_each(
        check,
        Tool.COUNTERS,
        ground,
        lambda node: commands.counters(check, ground.run, [port.interface for port in node.ports]),
        below="after/" if check.after else "before/",
    )


def _kernel_log(check: KernelLog, ground: Ground) -> Iterator[Batch]:
    return _of_each(check, Tool.DMESG, ground, lambda _: commands.kernel_log(check))


def _gpu_state(check: GpuState, ground: Ground) -> Iterator[Batch]:
    yield from _of_each(check, Tool.NVIDIA_SMI, ground, lambda _: commands.gpu_state(check))
    linked = replace(ground, nodes=[node for node in ground.nodes if node.nvlinks])
    yield from _of_each(check, Tool.NVLINK, linked, lambda _: commands.nvlinks(), below="nvlink/")


def _dcgm_diag(check: DcgmDiag, ground: Ground) -> Iterator[Batch]:
    asked = {"level": check.level}
    for batch in _of_each(check, Tool.DCGM_DIAG, ground, lambda _: commands.dcgm_diag(check)):
        yield tuple(replace(one, context=one.context.over(Context(parameters=asked))) for one in batch)


_NCCOM: Mapping[str, str] = {
    "allr": "all_reduce",
    "allg": "all_gather",
    "redsct": "reduce_scatter",
    "alltoall": "all_to_all",
}


def _of_all(  # noqa: PLR0913, PLR0917 (what a step is made of)
    check: NcclTests | NccomTest, name: str, tool: Tool, ground: Ground, task: Task, about: Context
) -> Planned:
    names = _names(ground.nodes)
    return Planned(name, check.check, tool, about.over(Context(nodes=names)), names, task)


_PLANNERS: Mapping[type[AnyCheck], Callable[..., Iterator[Batch]]] = {
    Links: _links,
    Link: _link,
    Clock: _clock,
    Matrix: _matrix,
    Memory: _memory,
    Disk: _disk,
    Pairs: _pairs,
    Collectives: _collectives,
    NcclTests: _nccl_tests,
    NccomTest: _nccom_test,
    Transport: lambda _check, _ground: iter(()),  # `also_read` has what nccl-tests print in passing
    Counters: _counters,
    KernelLog: _kernel_log,
    GpuState: _gpu_state,
    DcgmDiag: _dcgm_diag,
}
