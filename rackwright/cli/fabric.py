"""`rackwright fabric`: switches and cables of a fabric."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.cli.cluster import open_cluster
from rackwright.errors import GOOD, SpecInvalid, UsageError
from rackwright.findings import Finding, SpecPath
from rackwright.plan import faults
from rackwright.plan.fabric.counts import Counts, size
from rackwright.plan.fabric.frame import Demand, Infeasible
from rackwright.plan.fabric.demand import demand, fat_trees
from rackwright.spec.fabrics import Attach

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.canonical import Json
    from rackwright.cli.output import Console

SCHEMA = "rackwright/fabric-size/1"


@click.group()
def command() -> None:
    """Switches and cables of a fabric."""


class Ratio(click.ParamType[Fraction]):
    """A positive number, or one over another: ``2``, ``0.5``, ``7/1``."""

    name = "ratio"

    def convert(
        self, value: str | Fraction, param: click.Parameter | None, ctx: click.Context | None
    ) -> Fraction:
        """The number, exactly."""
        try:
            ratio = Fraction(value)
        except (ValueError, ZeroDivisionError):
            ratio = Fraction(0)
        if ratio <= 0:
            self.fail(f"{value!r} is no positive number such as 2, 0.5 or 7/1", param, ctx)
        return ratio


_POSITIVE = click.IntRange(min=1)


@frame.command(
    "size",
    group=command,
    example="rackwright fabric size clusters/onprem-dgx-h100.yaml\n"
    "rackwright fabric size --topology fat-tree --endpoints 16384 --ports 64 --rails 8 --unit-nodes 32",
)
@click.argument("spec", type=frame.SPEC, required=False)
@click.option("--topology", type=click.Choice(["fat-tree"]), help="Without a spec: what to count.")
@click.option("--endpoints", type=_POSITIVE, help="NIC ports of all nodes in one plane.")
@click.option("--ports", type=_POSITIVE, help="Ports of a switch.")
@click.option("--rails", type=_POSITIVE, default=1, show_default=True, help="NICs of a node.")
@click.option("--unit-nodes", type=_POSITIVE, help="Nodes of a scalable unit; half of --ports if not given.")
@click.option("--planes", type=_POSITIVE, default=1, show_default=True, help="Independent trees.")
@click.option("--tiers", type=click.IntRange(2, 3), help="As few as carry the endpoints if not given.")
@click.option("--attach", type=click.Choice([one.value for one in Attach]), default=Attach.RAIL.value)
@click.option("--leaf", type=Ratio(), default="1", help="Oversubscription of a leaf, in bandwidth.")
@click.option("--spine", type=Ratio(), default="1", help="Oversubscription of a spine, in bandwidth.")
@click.option("--breakout", type=_POSITIVE, default=1, help="Node links on one port of a leaf.")
@click.option("--manager-uplinks", type=click.IntRange(min=0), default=0, help="Leaf ports for the manager.")
@click.option("--partial", is_flag=True, help="The last unit may have fewer nodes.")
def size_command(  # noqa: PLR0913 (one argument an option)
    console: Console,
    spec: Path | None,
    *,
    topology: str | None,
    endpoints: int | None,
    ports: int | None,
    rails: int,
    unit_nodes: int | None,
    planes: int,
    tiers: int | None,
    attach: str,
    leaf: Fraction,
    spine: Fraction,
    breakout: int,
    manager_uplinks: int,
    partial: bool,
) -> int:
    """Count the switches and cables of SPEC's fat trees, or of one that the options describe."""
    if (spec is None) == (topology is None):
        raise _one_of_two()
    if spec:
        return _answer(console, _of_spec(spec))
    if endpoints is None or ports is None:
        raise _incomplete(endpoints=endpoints, ports=ports)
    asked = Demand(
        endpoints=endpoints,
        ports=ports,
        rails=rails,
        unit_nodes=unit_nodes or max(ports // 2, 1),
        attach=Attach(attach),
        planes=planes,
        tiers=tiers,
        leaf_oversubscription=leaf,
        spine_oversubscription=spine,
        breakout=breakout,
        manager_uplinks=manager_uplinks,
        partial=partial,
    )
    return _answer(console, {"": _of_options(asked)})


def _answer(console: Console, counts: dict[str, Counts]) -> int:
    console.result(_document(counts), "\n".join(_text(counts)))
    return GOOD


def _one_of_two() -> UsageError:
    return UsageError(
        "a fabric is counted from a spec, or from options",
        where="rackwright fabric size",
        expected="SPEC, or --topology fat-tree --endpoints N --ports K",
        hint="see `rackwright fabric size --help`",
    )


def _incomplete(**asked: int | None) -> UsageError:
    missing = [f"--{name}" for name, value in asked.items() if value is None]
    return UsageError(
        "a fat tree is counted from its endpoints and the ports of a switch",
        where="rackwright fabric size",
        got=f"no {' and no '.join(missing)}",
        expected="--endpoints N --ports K",
        hint="see `rackwright fabric size --help`",
    )


def _of_options(asked: Demand) -> Counts:
    try:
        return size(asked)
    except Infeasible as misfit:
        raise UsageError(
            misfit.message,
            code=faults.NO_SUCH_TREE,
            where="rackwright fabric size",
            got=misfit.got,
            expected=misfit.expected,
            hint=misfit.hint,
        ) from None


def _of_spec(spec: Path) -> dict[str, Counts]:
    """Fabric → its counts; all that cannot be built are told at once."""
    cluster = open_cluster(spec)
    counts: dict[str, Counts] = {}
    findings = []
    for name, topology in fat_trees(cluster.plan).items():
        at = SpecPath() / "fabrics" / name / "topology"
        try:
            counts[name] = size(
                demand(cluster.plan, name, topology, cluster.catalogue.switches[topology.switch])
            )
        except Infeasible as misfit:
            findings.append(_finding(at, misfit))
    if findings:
        raise SpecInvalid(cluster.loaded.positions.locate(findings))
    return counts


def _finding(at: SpecPath, misfit: Infeasible) -> Finding:
    return Finding(
        code=faults.NO_SUCH_TREE,
        message=misfit.message,
        path=at,
        got=misfit.got,
        expected=misfit.expected,
        hint=misfit.hint,
    )


def _document(counts: dict[str, Counts]) -> dict[str, Json]:
    plain = {name: _plain(one) for name, one in counts.items()}
    if list(plain) == [""]:
        return {"schema": SCHEMA, **plain[""]}
    return {"schema": SCHEMA, "fabrics": {**plain}}


def _plain(counts: Counts) -> dict[str, Json]:
    return {
        "endpoints": counts.endpoints,
        "tiers": [asdict(tier) for tier in counts.tiers],
        "cables": [{"between": list(one.between), "count": one.count} for one in counts.cables],
    }


def _text(counts: dict[str, Counts]) -> Iterator[str]:
    for name, one in counts.items():
        if name:
            yield name
        yield f"endpoints     {one.endpoints:>7}"
        yield from (f"{tier.role:<12}  {tier.switches:>7}" for tier in one.tiers)
        yield from (f"{'-'.join(cables.between):<12}  {cables.count:>7} cables" for cables in one.cables)
    if not counts:
        yield "no fabric of this spec is a fat tree"
