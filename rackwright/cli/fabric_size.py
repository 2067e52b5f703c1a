"""`rackwright fabric size`: switches and cables in numbers, of a spec or of what options describe."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.cli.cluster import open_cluster
from rackwright.cli.fabric_group import command, is_custom
from rackwright.errors import GOOD, UsageError
from rackwright.plan import faults
from rackwright.plan.fabric.counts import Cables, Counts, Tier, counts, size
from rackwright.plan.fabric.frame import Demand, Infeasible
from rackwright.spec.fabrics import Attach

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.canonical import Json
    from rackwright.cli.output import Console
    from rackwright.plan.fabric.model import CablingPlan

SCHEMA = "rackwright/fabric-size/1"


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
@click.option("--uplink-ratio", type=Ratio(), help="Rate of an uplink over that of a node's link.")
@click.option("--pod-units", type=_POSITIVE, help="Units of a pod, with three tiers.")
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
    uplink_ratio: Fraction | None,
    pod_units: int | None,
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
        uplink_ratio=uplink_ratio,
        pod_units=pod_units,
        manager_uplinks=manager_uplinks,
        partial=partial,
    )
    return _answer(console, {"": _of_options(asked)})


def _answer(console: Console, found: dict[str, Counts]) -> int:
    console.result(_document(found), "\n".join(_text(found)))
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
    """Fat tree or custom topology → its counts, as planned."""
    planned = open_cluster(spec).plan
    return {
        name: _told(one) if one.tree is None else counts(one.tree, one.endpoints, one.manager_uplinks)
        for name, one in planned.cabling.items()
        if one.tree is not None or is_custom(planned, name)
    }


def _told(one: CablingPlan) -> Counts:
    """What the spec says of a custom topology."""
    return Counts(
        endpoints=one.endpoints,
        tiers=tuple(Tier(tier.role, tier.switches) for tier in one.tiers),
        cables=tuple(Cables(some.between, some.count) for some in one.cables),
        uplinks_per_leaf=0,
        leaf_spine_links=0,
    )


def _document(found: dict[str, Counts]) -> dict[str, Json]:
    plain = {name: _plain(one) for name, one in found.items()}
    if list(plain) == [""]:
        return {"schema": SCHEMA, **plain[""]}
    return {"schema": SCHEMA, "fabrics": {**plain}}


def _plain(numbers: Counts) -> dict[str, Json]:
    return {
        "endpoints": numbers.endpoints,
        "tiers": [asdict(tier) for tier in numbers.tiers],
        "cables": [{"between": list(one.between), "count": one.count} for one in numbers.cables],
    }


def _text(found: dict[str, Counts]) -> Iterator[str]:
    for name, one in found.items():
        if name:
            yield name
        yield f"endpoints     {one.endpoints:>7}"
        yield from (f"{tier.role:<12}  {tier.switches:>7}" for tier in one.tiers)
        yield from (f"{'-'.join(cables.between):<12}  {cables.count:>7} cables" for cables in one.cables)
    if not found:
        yield "no fabric of this spec is a fat tree"
