"""Example specs of big fabrics under clusters/fabrics/: their counts, and a sample of their cut-sheet."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.cli.frame import run
from rackwright.findings import Level
from rackwright.plan.fabric.cables import cables
from rackwright.plan.fabric.counts import size
from rackwright.plan.fabric.frame import Demand
from rackwright.plan.lock import render
from rackwright.render.fabric import cutsheet
from rackwright.render.slurm import files as slurm_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rackwright.cli.cluster import Cluster

CLUSTERS = paths.repository() / "clusters"
EXAMPLES = sorted(path for path in (CLUSTERS / "fabrics").glob("*.yaml") if ".lock." not in path.name)
SPECS = [*EXAMPLES, CLUSTERS / "onprem-dgx-h100.yaml"]
UNCABLED = {"trn2-ultraservers", "dragonfly-1056"}
"""One is in the cloud, the other a custom topology."""
CABLED = [path for path in SPECS if path.stem not in UNCABLED]
SAMPLE = 12
"""Lines of a cut-sheet that are kept, evenly spread."""


@cache
def opened(spec: Path) -> Cluster:
    """Planned once: the biggest has 24,576 accelerators."""
    return open_cluster(spec)


def _counts(spec: Path) -> Iterator[str]:
    totals = opened(spec).plan.totals
    yield f"{spec.stem}: {totals.nodes} nodes, {totals.accelerators} accelerators, {totals.racks} racks"
    for name, one in opened(spec).plan.cabling.items():
        tiers = ", ".join(f"{tier.role} {tier.switches}" for tier in one.tiers)
        cables = ", ".join(f"{'-'.join(some.between)} {some.count}" for some in one.cables)
        yield f"  {name}: {tiers}; {cables}"


def test_counts(golden: Callable[[str, str], None]) -> None:
    golden("fabrics/counts.txt", "".join(f"{line}\n" for spec in SPECS for line in _counts(spec)))


@pytest.mark.parametrize("spec", EXAMPLES, ids=lambda path: path.stem)
def test_the_committed_lock_is_the_current_one(spec: Path) -> None:
    cluster = opened(spec)
    assert not cluster.lock_changed, f"rackwright plan {spec}, and commit the lock"
    assert cluster.lock_path.read_text(encoding="utf-8") == render(cluster.lock)


@pytest.mark.parametrize("spec", EXAMPLES, ids=lambda path: path.stem)
def test_no_rule_has_an_error(spec: Path) -> None:
    assert [one for one in opened(spec).findings if one.level is Level.ERROR] == []


@pytest.mark.parametrize("spec", CABLED, ids=lambda path: path.stem)
def test_a_sample_of_the_cut_sheet(spec: Path, golden: Callable[[str, str], None]) -> None:
    lines = cutsheet.write(cables(opened(spec).plan, "compute")).splitlines(keepends=True)
    sample = lines[1 :: len(lines) // SAMPLE]
    golden(f"fabrics/{spec.stem}.csv", "".join([lines[0], *sample]))


@pytest.mark.parametrize(
    ("example", "blocks", "first", "sizes"),
    [
        ("gb200-9216", 128, "gb200-[001-018]", (18, 144)),
        ("trn2-ultraservers", 16, "trn2-[001-004]", (4, 8, 16, 32, 64)),
    ],
)
def test_jobs_are_placed_by_scale_up_domains(
    example: str, blocks: int, first: str, sizes: tuple[int, ...]
) -> None:
    slurm = opened(CLUSTERS / "fabrics" / f"{example}.yaml").plan.slurm["main"]
    text = slurm_files(slurm)["topology.conf"]
    lines = [line for line in text.splitlines() if line.startswith("BlockName=")]
    assert (len(lines), lines[0].split("Nodes=")[1], slurm.block_sizes) == (blocks, first, sizes)
    assert f"BlockSizes={','.join(map(str, sizes))}" in text.splitlines()


def test_units_of_eight_racks_of_gb200_have_576_accelerators() -> None:
    platform = opened(CLUSTERS / "fabrics" / "gb200-9216.yaml").catalogue.platforms["dgx-gb200"]
    assert platform.scale_up is not None
    assert 8 * platform.scale_up.accelerators == 576
    assert 8 * platform.scale_up.nodes == 144


def test_the_bandwidth_of_an_ultraserver_is_printed_wrong() -> None:
    """A public table has 3,200 Gb/s for the UltraServer: that is one of its four instances (facts §8, 5)."""
    platform = opened(CLUSTERS / "fabrics" / "trn2-ultraservers.yaml").catalogue.platforms["trn2u.48xlarge"]
    assert platform.scale_up is not None
    assert platform.network_cards is not None
    assert platform.network_cards.efa_total_gbps == 3200
    assert platform.scale_up.nodes * platform.network_cards.efa_total_gbps == 12_800


def test_the_racks_of_the_roce_cluster_are_as_published() -> None:
    """16 GPUs a rack, a ToR for two racks with twice the uplinks, 3,072 GPUs a pod, and 7:1 above.

    7:1 of 96 ports is no whole number: 14 uplinks are the fewest that are not more oversubscribed.
    """
    plan = opened(CLUSTERS / "fabrics" / "roce-24576.yaml").plan
    tree = plan.cabling["compute"].tree
    assert tree is not None
    assert tree.leaves * 2 == 24_576 // 16
    assert Fraction(tree.unit_nodes * tree.rails, tree.uplinks) == Fraction(1, 2)
    assert (tree.pods, tree.pod_leaves * tree.unit_nodes * tree.rails) == (8, 3072)
    assert Fraction(96, 14) == Fraction(tree.pod_leaves * tree.leaf_spine_links, tree.spine_uplinks) <= 7


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
