"""Gates above what links carry, in whatever unit, and gates that half-broken machines pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.errors import UsageError
from rackwright.validate import ceilings
from rackwright.validate.expectations import Expectation, Key, Provenance
from rackwright.validate.expected import expectations, refuse_absurd
from rackwright.validate.model import Unit
from rackwright.validate.published import of_accelerators, published

if TYPE_CHECKING:
    from rackwright.catalogue.load import Catalogue
    from rackwright.validate.expectations import Ceiling

NODE_GB_S = {"p4d.24xlarge": 50.0, "p4de.24xlarge": 50.0, "p5.48xlarge": 400.0, "p5en.48xlarge": 400.0,
             "p6-b200.48xlarge": 400.0, "p6-b300.48xlarge": 800.0, "dgx-h100": 400.0}  # fmt: skip
"""EFA or InfiniBand of a node, one direction."""


def _gate(at_least: float, unit: Unit = Unit.GB_S, collective: str = "all_reduce") -> Expectation:
    return Expectation(
        key=Key(name="busbw", check="nccl-tests", collective=collective),
        unit=unit,
        at_least=at_least,
        nominal=at_least,
        provenance=Provenance.OPERATOR,
        source="a test",
    )


def _ceilings(catalogue: Catalogue, platform: str, nodes: int) -> tuple[Ceiling, ...]:
    return tuple(ceilings.of_accelerators(catalogue.platforms[platform], nodes, NODE_GB_S[platform]))


@pytest.mark.parametrize(
    ("platform", "nodes", "gate"),
    [("p4d.24xlarge", 2, 300), ("p5.48xlarge", 2, 800), ("p6-b200.48xlarge", 4, 900)],
)
def test_published_gates_that_nothing_reaches_are_refused(
    catalogue: Catalogue, platform: str, nodes: int, gate: float
) -> None:
    """AWS gpu-cluster-healthcheck, check 5: 300, 800 and 900 GB/s (facts/validation.md §1.7, 1)."""
    with pytest.raises(UsageError, match="means nothing") as caught:
        refuse_absurd(_gate(gate), nodes * 8, (), {}, _ceilings(catalogue, platform, nodes))
    assert (caught.value.code, "no algorithm beats" in caught.value.expected) == ("EXP001", True)


@pytest.mark.parametrize(
    ("unit", "a_gb_s"), [(Unit.GB_S, 1.0), (Unit.GBIT_S, 8.0), (Unit.MBIT_S, 8000.0), (Unit.MIB_S, 953.7)]
)
def test_the_bound_holds_in_every_unit_of_a_rate(catalogue: Catalogue, unit: Unit, a_gb_s: float) -> None:
    known = _ceilings(catalogue, "p5.48xlarge", 2)
    refuse_absurd(_gate(740 * a_gb_s, unit), 16, (), {}, known)
    with pytest.raises(UsageError):
        refuse_absurd(_gate(760 * a_gb_s, unit), 16, (), {}, known)


def test_within_a_node_what_leaves_an_accelerator_counts(catalogue: Catalogue) -> None:
    known = _ceilings(catalogue, "p5.48xlarge", 1)
    refuse_absurd(_gate(830), 8, (), {}, known)
    with pytest.raises(UsageError):
        refuse_absurd(_gate(840), 8, (), {}, known)


def test_a_ceiling_of_one_platform_is_none_of_another(catalogue: Catalogue) -> None:
    """A gate that names none is one on both."""
    known = _ceilings(catalogue, "p5.48xlarge", 2)
    too_high = _gate(760)
    of_another = too_high.model_copy(update={"key": too_high.key.model_copy(update={"platform": "dgx-b200"})})
    refuse_absurd(of_another, 16, (), {}, known)
    with pytest.raises(UsageError):
        refuse_absurd(too_high, 16, (), {}, known)


def test_where_nobody_knows_the_links_there_is_no_ceiling(catalogue: Catalogue) -> None:
    assert tuple(ceilings.of_accelerators(catalogue.platforms["p6-b200.48xlarge"], 1, 400.0)) == ()
    assert tuple(ceilings.of_accelerators(catalogue.platforms["p5.48xlarge"], 2, None)) == ()


def _highest(catalogue: Catalogue, nodes: int) -> dict[str, float]:
    """Ceilings of GB200 nodes: four accelerators at 956.3 GB/s of NVLink, and 200 GB/s of EFA."""
    platform = catalogue.platforms["p6e-gb200.36xlarge"]
    return {one.collective: one.gb_s for one in ceilings.of_accelerators(platform, nodes, 200.0)}


def test_within_a_domain_of_several_nodes_what_leaves_an_accelerator_counts(catalogue: Catalogue) -> None:
    """An NVL72 is eighteen nodes of four."""
    assert _highest(catalogue, 18)["all_reduce"] == pytest.approx(956.3 * 2 * 71 / 72, abs=0.001)


def test_over_domains_the_nics_of_all_nodes_of_one_count(catalogue: Catalogue) -> None:
    """What leaves an NVL72 goes over the NICs of its 18 nodes at once, not over those of one node."""
    highest = _highest(catalogue, 36)
    assert highest["all_reduce"] == pytest.approx((956.3 + 50) * 2 * 143 / 144, abs=0.001)
    assert highest["all_to_all"] == pytest.approx(50 * 143 / 144 / (1 / 2), abs=0.001)
    assert highest["all_gather"] == pytest.approx(956.3 + 50, abs=0.001)


def test_over_domains_of_a_few_nodes_each_the_least_counts(catalogue: Catalogue) -> None:
    """Of 19 nodes the best that can be is ten in one domain and nine in another."""
    sent = 9 * 4 * 50 / (1 - 9 / 19)
    assert _highest(catalogue, 19)["all_to_all"] == pytest.approx(sent * 75 / 76 / 36, abs=0.001)


def test_no_figure_that_was_published_is_above_its_ceiling(catalogue: Catalogue) -> None:
    for figure in published().figures:
        known = _ceilings(catalogue, figure.platform, figure.nodes)
        refuse_absurd(_gate(figure.gb_s, collective=figure.collective), figure.nodes * 8, (), {}, known)


@pytest.mark.parametrize("platform", sorted({figure.platform for figure in published().figures}))
def test_a_gate_far_below_what_healthy_machines_reached_is_refused(platform: str) -> None:
    """OCI's 440 GB/s for B200, of 846 (facts/validation.md §1.5), and its like for every other platform."""
    figure = next(one for one in published().figures if one.platform == platform)
    healthy = {("", figure.collective): figure.gb_s}
    refuse_absurd(_gate(figure.gb_s * 0.71), 8, (), healthy)
    with pytest.raises(UsageError) as caught:
        refuse_absurd(_gate(figure.gb_s * 0.69), 8, (), healthy)
    assert "70% of what healthy nodes reached" in caught.value.expected


@pytest.mark.parametrize(("cluster", "slots"), [("aws-p5", 2), ("onprem-dgx-h100", 2)])
def test_a_plan_has_ceilings_and_its_own_gates_are_below(cluster: str, slots: int) -> None:
    opened = open_cluster(paths.repository() / "clusters" / f"{cluster}.yaml")
    pool = next(one for one in opened.plan.pools.values() if one.accelerators_per_node)
    found = expectations(opened.plan, opened.catalogue, list(pool.slots)[:slots])
    ranks = slots * pool.accelerators_per_node
    assert {one.collective for one in found.ceilings} >= {"all_reduce", "all_gather"}
    assert {one.ranks for one in found.ceilings} == {ranks}
    assert next(one.gb_s for one in found.ceilings if one.collective == "all_reduce") == 750
    gates = [one for one in found.expectations if one.key.check == "nccl-tests" and one.key.name == "busbw"]
    assert len(gates) == len(list(of_accelerators(pool.platform, slots, pool.accelerators_per_node)))
