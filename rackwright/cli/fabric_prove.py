"""`rackwright fabric prove`: the subnet manager's configuration run on the planned network, in simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright import paths
from rackwright.cli import frame
from rackwright.cli.cluster import open_cluster
from rackwright.cli.fabric_group import command, dump_text, fabrics_of, one_infiniband
from rackwright.errors import BAD, GOOD, UsageError
from rackwright.plan.fabric.subnets import subnet_name
from rackwright.render.fabric import ibnetdiscover, kept
from rackwright.validate.fabric.prove import prove

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.canonical import Json
    from rackwright.cli.output import Console
    from rackwright.plan.model import Plan
    from rackwright.validate.fabric.prove import Proof

SCHEMA = "rackwright/fabric-prove/1"


@frame.command(
    "prove", group=command, example="rackwright fabric prove clusters/onprem-dgx-h100.yaml --fabric compute"
)
@click.argument("spec", type=frame.SPEC)
@click.option("--fabric", help="One fabric only; without it every InfiniBand fat tree.")
@click.option(
    "--observed",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Run on this dump of ibnetdiscover and not on the planned network.",
)
@click.option(
    "--plane",
    type=click.IntRange(min=1),
    default=1,
    help="Plane that the dump is of, where there are several.",
)
@click.option(
    "--keep",
    is_flag=True,
    help="Keep the dump, once it is taken as a fat tree: `converge` gives opensm the GUIDs in it.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for configuration, network and logs; without it the state folder.",
)
def prove_command(  # noqa: PLR0913 (one argument an option)
    console: Console,
    spec: Path,
    *,
    fabric: str | None,
    observed: Path | None,
    plane: int,
    keep: bool,
    out: Path | None,
) -> int:
    """Run opensm with the rendered files over SPEC's fabrics on ibsim, and read from its log what it did.

    A tree that opensm refuses is exit 1: it then routes by minhop, and says nothing on its exit.
    """
    cluster = open_cluster(spec)
    cluster.refuse_stale()
    if keep and observed is None:
        raise _nothing_to_keep()
    folder = out or paths.fabric(cluster.plan.cluster.name)
    proofs: list[tuple[str, Proof]] = []
    for name, number in _asked(cluster.plan, fabric, observed, plane):
        console.message(f"{name}, plane {number}: opensm on ibsim")
        built = ibnetdiscover.read(dump_text(observed), str(observed)) if observed else None
        proofs.append((name, prove(cluster.plan, name, number, folder / f"{name}-p{number}", built)))
        if keep and observed and proofs[-1][1].accepted:
            console.message(f"kept: {_kept(cluster.plan, name, number, observed)}")
    console.result(_document(proofs), "\n".join(_lines(proofs)))
    return GOOD if all(proof.accepted for _, proof in proofs) else BAD


def _nothing_to_keep() -> UsageError:
    return UsageError(
        "a planned network has no GUIDs to keep",
        where="--keep",
        got="no --observed",
        expected="the dump of ibnetdiscover that is kept",
    )


def _kept(plan: Plan, fabric: str, plane: int, dump: Path) -> Path:
    tree = plan.cabling[fabric].tree
    subnet = subnet_name(fabric, plane, tree.planes if tree else 1)
    return kept.keep(plan.cluster.name, subnet, dump_text(dump))


def _asked(plan: Plan, fabric: str | None, observed: Path | None, plane: int) -> Iterator[tuple[str, int]]:
    """Fabrics with their planes; a dump is of one plane of one fabric."""
    if observed is not None:
        yield one_infiniband(plan, fabric), plane
        return
    found = [
        name
        for name in fabrics_of(plan, fabric)
        if plan.fabrics[name].kind == "infiniband" and plan.cabling[name].tree is not None
    ]
    if not found:
        raise UsageError(
            "only an InfiniBand fat tree has a routing to prove",
            where="rackwright fabric prove",
            got=fabric or "none in this spec",
            expected="a fabric of kind infiniband with topology fat-tree",
        )
    for name in found:
        tree = plan.cabling[name].tree
        yield from ((name, plane) for plane in range(1, (tree.planes if tree else 1) + 1))


def _document(proofs: list[tuple[str, Proof]]) -> dict[str, Json]:
    """All together, then each: accepted only if every one is."""
    worst = next((proof for _, proof in proofs if not proof.accepted), proofs[0][1])
    return {
        "schema": SCHEMA,
        "routing": worst.routing,
        "accepted": worst.accepted,
        "seconds": round(sum(proof.seconds for _, proof in proofs), 2),
        "log": str(worst.log),
        "proofs": [_plain(name, proof) for name, proof in proofs],
    }


def _plain(name: str, proof: Proof) -> Json:
    return {
        "fabric": name,
        "plane": proof.plane,
        "routing": proof.routing,
        "accepted": proof.accepted,
        "seconds": proof.seconds,
        "adapters": proof.adapters,
        "switches": proof.switches,
        "refusals": list(proof.refusals),
        "log": str(proof.log),
    }


def _lines(proofs: list[tuple[str, Proof]]) -> Iterator[str]:
    for name, proof in proofs:
        verdict = "accepted" if proof.accepted else "REFUSED"
        seen = f"{proof.adapters:,} adapters, {proof.switches:,} switches"
        yield f"{name} plane {proof.plane}: {verdict}, {proof.routing} over {seen} in {proof.seconds:g} s"
        yield from (f"  {refusal}" for refusal in proof.refusals)
        yield f"  log {proof.log}"
