"""`rackwright fabric diff`: what was built against what is planned, and the work that mends it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.cli.cluster import no_collections, open_cluster
from rackwright.cli.fabric_group import command, dump_text, one_fabric, one_infiniband
from rackwright.errors import BAD, GOOD
from rackwright.render.fabric import iblinkinfo, ibnetdiscover, lldp
from rackwright.render.fabric.network import network
from rackwright.validate.fabric.compare import compare
from rackwright.validate.fabric.work import Words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.canonical import Json
    from rackwright.cli.output import Console
    from rackwright.plan.model import Plan
    from rackwright.render.fabric.network import Network
    from rackwright.validate.fabric.compare import Comparison
    from rackwright.validate.fabric.work import Row, Step

SCHEMA = "rackwright/fabric-diff/1"


@frame.command(
    "diff",
    group=command,
    example="rackwright fabric diff clusters/onprem-dgx-h100.yaml --fabric compute --observed dump.txt",
)
@click.argument("spec", type=frame.SPEC)
@click.option(
    "--observed",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=True,
    help="What was found: output of ibnetdiscover or iblinkinfo --line, or a folder of HOST.json by lldpctl.",
)
@click.option("--fabric", help="Which fabric, where the spec has several.")
@click.option("--plane", type=click.IntRange(min=1), help="Plane that it was found in, of several.")
def diff_command(
    console: Console, spec: Path, *, observed: Path, fabric: str | None, plane: int | None
) -> int:
    """Compare the cables of SPEC with those that were found, by the names of devices.

    Differences are exit 1. An InfiniBand adapter is called NODE HCA-N, with the number of its rail; one
    that is called otherwise is told as unnamed, and compared all the same where it is clear who it is.
    """
    cluster = open_cluster(spec)
    cluster.refuse_stale()
    name = (one_fabric if observed.is_dir() else one_infiniband)(cluster.plan, fabric)
    with no_collections():
        intended = network(cluster.plan, name, plane)
        found = compare(intended, _read(cluster.plan, name, intended, observed))
    words = Words(cluster.plan, name, intended, found)
    rows, steps = words.rows(), words.steps()
    console.result(_document(name, found, rows, steps), "\n".join(_lines(found, rows, steps)))
    return BAD if rows else GOOD


def _read(plan: Plan, fabric: str, intended: Network, observed: Path) -> Network:
    """By what it is: a folder is LLDP's, and a line of iblinkinfo begins with a GUID."""
    if observed.is_dir():
        texts = {path.stem: dump_text(path) for path in sorted(observed.glob("*.json"))}
        return lldp.read(texts, plan, fabric, intended)
    text = dump_text(observed)
    if text.lstrip().startswith("0x"):
        return iblinkinfo.read(text, str(observed), intended)
    return ibnetdiscover.read(text, str(observed))


def _document(name: str, found: Comparison, rows: list[Row], steps: list[Step]) -> dict[str, Json]:
    return {
        "schema": SCHEMA,
        "fabric": name,
        "as_planned": found.agreed,
        "aggregation_nodes": list(found.aggregation),
        "differences": [
            {"kind": row.kind.value, "where": row.where, "intended": row.intended, "observed": row.observed}
            for row in rows
        ],
        "work_order": [
            {"kind": step.kind.value, "where": step.where, "plugs": step.plugs, "do": list(step.do)}
            for step in steps
        ],
    }


def _lines(found: Comparison, rows: list[Row], steps: list[Step]) -> Iterator[str]:
    yield f"{found.agreed:,} cables as planned, {_counted(len(rows), 'difference')}"
    if found.aggregation:
        yield f"aggregation nodes, which are no hosts: {len(found.aggregation)}"
    for row in rows:
        yield f"{row.kind}: {row.where}"
        yield f"  planned  {row.intended}"
        yield f"  found    {row.observed}"
    if steps:
        yield "work order"
    for number, step in enumerate(steps, 1):
        yield f"{number:>3}. {step.kind}, {_counted(step.plugs, 'plug')}"
        yield from (f"     {sentence}" for sentence in step.do)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
