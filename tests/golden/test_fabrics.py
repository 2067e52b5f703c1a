"""Example specs of big fabrics under clusters/fabrics/: their counts, and a sample of their cut-sheet."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.cli.frame import run
from rackwright.plan.fabric.cables import cables
from rackwright.plan.fabric.counts import size
from rackwright.plan.fabric.frame import Demand, frame
from rackwright.render.fabric import cutsheet
from rackwright.spec.fabrics import Attach

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLUSTERS = paths.repository() / "clusters"
SPECS = [*sorted((CLUSTERS / "fabrics").glob("*.yaml")), CLUSTERS / "onprem-dgx-h100.yaml"]
SAMPLE = 12
"""Lines of a cut-sheet that are kept, evenly spread."""


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_counts(spec: Path, golden: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fabric", "size", str(spec), "--format", "json"]) == 0
    golden(f"fabrics/{spec.stem}.json", capsys.readouterr().out)


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_sample_of_the_cut_sheet(spec: Path, golden: Callable[[str, str], None]) -> None:
    lines = cutsheet.write(cables(open_cluster(spec).plan, "compute")).splitlines(keepends=True)
    sample = lines[1 :: len(lines) // SAMPLE]
    golden(f"fabrics/{spec.stem}.csv", "".join([lines[0], *sample]))


def test_24576_gpus_on_ethernet_with_the_published_oversubscription() -> None:
    """Two racks of 16 GPUs on a ToR with twice the uplinks, and 7:1 above; the counts are derived."""
    tree = frame(
        Demand(
            endpoints=24_576,
            ports=128,
            rails=8,
            unit_nodes=4,
            attach=Attach.TOR,
            tiers=3,
            leaf_oversubscription=Fraction(1, 2),
            spine_oversubscription=Fraction(7),
        )
    )
    assert tree.leaves * 2 == 24_576 // 16
    assert Fraction(tree.unit_nodes * tree.rails, tree.uplinks) == Fraction(1, 2)
    assert Fraction(tree.pod_leaves * tree.leaf_spine_links, tree.spine_uplinks) == 7


@pytest.mark.parametrize(
    ("demand", "tiers"),
    [
        (Demand(endpoints=8 * 64 * 4, ports=128, rails=8, unit_nodes=64, planes=2), [64, 32]),
        (Demand(endpoints=8 * 72 * 4, ports=144, rails=8, unit_nodes=72), [32, 18]),
    ],
    ids=["128-port twin planes", "144-port XDR"],
)
def test_designs_whose_counts_follow_from_the_formula(demand: Demand, tiers: list[int]) -> None:
    """4 units: leaves are rails times units, spines take all uplinks and divide a leaf's."""
    assert [tier.switches for tier in size(demand).tiers] == tiers


def test_a_table_with_twelve_spines_for_three_units_is_a_misprint() -> None:
    """The textbook formula says 12; 32 uplinks over 12 spines are no whole number (facts/fabric.md §0)."""
    counts = size(Demand(endpoints=96 * 8, ports=64, rails=8, unit_nodes=32))
    assert counts.tiers[1].switches != -(-96 * 8 // 64)
    assert counts.uplinks_per_leaf % 12 != 0


def test_the_example_of_128_cables_on_a_64_port_leaf_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A published cabling example that its tool takes without complaint (facts/fabric.md §8, 9)."""
    options = ["--endpoints", "128", "--ports", "64", "--rails", "8", "--unit-nodes", "16", "--attach", "tor"]
    assert run(["fabric", "size", "--topology", "fat-tree", *options, "--format", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "FAB004"
