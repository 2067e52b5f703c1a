"""What may be expected of planned nodes: shares of rates, within what a gate can mean."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.catalogue.model import Check
from rackwright.errors import UsageError
from rackwright.plan.build import build
from rackwright.spec.fabrics import Efa
from rackwright.spec.load import load
from rackwright.validate.busbw import COLLECTIVES, bound, factor
from rackwright.validate.expectations import Expectation, Key, Provenance
from rackwright.validate.expected import expectations, rate_mbit_s, refuse_absurd
from rackwright.validate.model import Unit

if TYPE_CHECKING:
    from rackwright.catalogue.load import Catalogue
    from rackwright.catalogue.model import Platform
    from rackwright.plan.model import Plan

NODES = ("node-001", "node-002", "node-003")


@pytest.fixture(scope="module")
def lab() -> Plan:
    return build(load(paths.repository() / "clusters" / "lab.yaml"), load_catalogue(), None)[0]


def _with(catalogue: Catalogue, **changed: object) -> Catalogue:
    platform: Platform = catalogue.platforms["lab-node"].model_copy(update=changed)
    platforms = {**catalogue.platforms, "lab-node": platform}
    return replace(catalogue, platforms=platforms)


def _gates(plan: Plan, catalogue: Catalogue, nodes: tuple[str, ...] = NODES) -> dict[str, Expectation]:
    found = expectations(plan, catalogue, nodes).expectations
    return {f"{one.key.collective or one.key.name} {one.key.rails}": one for one in found}


def test_gates_are_shares_of_the_planned_rate(lab: Plan, catalogue: Catalogue) -> None:
    shares = {"pairs": 0.75, "all_reduce": 0.6, "broadcast": 0.4}
    gates = _gates(lab, _with(catalogue, line_rate_share=shares))
    assert gates["bandwidth 1"].at_least == 75
    assert (gates["all_reduce 1"].at_least, gates["all_reduce 2"].at_least) == (60, 120)
    assert gates["all_reduce 2"].nominal == 200
    assert gates["all_reduce 2"].provenance is Provenance.PLAN
    assert gates["all_reduce 2"].source == "0.6 of the planned 2 x 100 Mbit/s"
    assert "all_gather 1" not in gates


def test_several_rails_at_once_may_have_a_share_of_their_own(lab: Plan, catalogue: Catalogue) -> None:
    gates = _gates(lab, _with(catalogue, line_rate_share={"all_reduce": 0.6, "all_rails": 0.5}))
    assert (gates["all_reduce 1"].at_least, gates["all_reduce 2"].at_least) == (60, 60)


def test_what_is_right_is_expected_of_all(lab: Plan, catalogue: Catalogue) -> None:
    found = {
        (one.key.check, one.key.name): (one.at_least, one.at_most)
        for one in expectations(lab, catalogue, NODES).expectations
        if one.provenance is not Provenance.PLAN and one.key.check != Check.COUNTERS
    }
    assert found == {
        ("links", "carrier"): (1, None),
        ("link", "black_hole"): (None, 0),
        ("clock", "offset"): (None, 0.128),
        ("matrix", "wrong"): (None, 0),
        ("matrix", "mismatches"): (None, 0),
        ("memory", "failures"): (None, 0),
        ("disk", "verify_errors"): (None, 0),
        ("collectives", "wrong"): (None, 0),
        ("nccl-tests", "wrong"): (None, 0),
    }


def test_nodes_without_links_have_no_gates(lab: Plan, catalogue: Catalogue) -> None:
    found = expectations(lab, catalogue, ["head-001"]).expectations
    assert Provenance.PLAN not in {one.provenance for one in found}


def test_platform_without_shares_has_no_gates(lab: Plan, catalogue: Catalogue) -> None:
    found = expectations(lab, _with(catalogue, line_rate_share={}), NODES).expectations
    assert Provenance.PLAN not in {one.provenance for one in found}


def test_gate_that_half_broken_nodes_pass_is_refused(lab: Plan, catalogue: Catalogue) -> None:
    shares = {"all_reduce": 0.6}
    expectations(
        lab, _with(catalogue, line_rate_share=shares, healthy_busbw_gbps={"all_reduce": 0.171}), NODES
    )
    with pytest.raises(UsageError) as caught:
        expectations(
            lab, _with(catalogue, line_rate_share=shares, healthy_busbw_gbps={"all_reduce": 0.173}), NODES
        )
    assert caught.value.code == "EXP001"
    assert "70% of what healthy nodes reached" in caught.value.expected


@pytest.mark.parametrize(
    ("cluster", "pool", "mbit_s"),
    [
        ("lab", "node", 100),
        ("onprem-dgx-h100", "h100", 400_000),
        ("aws-p5", "p5", 100_000),
        ("aws-p6-b300", "b300", 400_000),
    ],
)
def test_rate_is_that_of_the_slower_of_port_and_fabric(
    catalogue: Catalogue, cluster: str, pool: str, mbit_s: float
) -> None:
    spec = load(paths.repository() / "clusters" / f"{cluster}.yaml").spec
    (name, *_) = spec.pools[pool].fabrics
    platform = catalogue.platforms[spec.pools[pool].platform]
    assert rate_mbit_s(spec.fabrics[name], platform) == mbit_s


def test_efa_interfaces_share_what_the_node_has_in_all(catalogue: Catalogue) -> None:
    """Each of eight on a P6e-GB200 could carry 400 Gb/s, and all together carry 1600."""
    assert rate_mbit_s(Efa(kind="efa"), catalogue.platforms["p6e-gb200.36xlarge"]) == 200_000
    assert rate_mbit_s(Efa(kind="efa"), catalogue.platforms["m7i.4xlarge"]) is None


@given(collective=st.sampled_from(COLLECTIVES), ranks=st.integers(2, 4096), rate=st.floats(1, 1e6))
def test_bound_is_reached_by_least_traffic_and_below_twice_the_rate(
    collective: str, ranks: int, rate: float
) -> None:
    most = bound(collective, ranks, rate)
    assert rate <= most * (1 + 1e-9)
    assert most < 2 * rate
    if collective != "all_reduce":
        assert most == pytest.approx(rate)


def test_bound_of_all_reduce_is_k_times_the_rate() -> None:
    assert bound("all_reduce", 2, 100) == 100
    assert bound("all_reduce", 4, 100) == factor("all_reduce", 4) * 100 == 150


def _gate(collective: str, at_least: float) -> Expectation:
    return Expectation(
        key=Key(name="busbw", check="collectives", collective=collective, fabric="compute", rails=1),
        unit=Unit.MBIT_S,
        at_least=at_least,
        nominal=100,
        provenance=Provenance.PLAN,
        source="a test",
    )


@given(collective=st.sampled_from(COLLECTIVES), ranks=st.integers(2, 64), share=st.floats(0.01, 3))
def test_gate_is_refused_exactly_above_the_bound(collective: str, ranks: int, share: float) -> None:
    planned, gate = [_gate("all_reduce", 1)], _gate(collective, share * 100)
    if share * 100 > bound(collective, ranks, 100):
        with pytest.raises(UsageError, match="means nothing"):
            refuse_absurd(gate, ranks, planned, {})
    else:
        refuse_absurd(gate, ranks, planned, {})


def test_a_gate_for_two_ranks_is_held_to_what_two_can_reach() -> None:
    """Two of a thousand nodes send over one connection each way: nothing doubles what it carries."""
    gate = _gate("all_reduce", 150)
    of_two = gate.model_copy(update={"key": gate.key.model_copy(update={"ranks": 2})})
    planned = [_gate("all_reduce", 1)]
    refuse_absurd(gate, 1000, planned, {})
    with pytest.raises(UsageError, match="means nothing"):
        refuse_absurd(of_two, 1000, planned, {})
    of_many = gate.model_copy(update={"key": gate.key.model_copy(update={"ranks": 1000})})
    refuse_absurd(of_many, 2, planned, {})


def test_of_two_platforms_each_has_figures_for_what_one_of_its_jobs_has(catalogue: Catalogue) -> None:
    """One of Trainium too, of which nobody published any; and a job of both is no job of either."""
    plan = build(load(paths.repository() / "clusters" / "hybrid.yaml"), load_catalogue(), None)[0]
    gpus, chips = ["h100-001", "h100-002"], ["trn2-001", "trn2-002"]
    alone, apart, mixed = (
        expectations(plan, catalogue, [*gpus, *chips], jobs)
        for jobs in ([gpus], [gpus, chips], [[*gpus, *chips]])
    )
    figures = [one.key for one in apart.expectations if one.key.check == Check.NCCL_TESTS and one.key.ranks]
    assert {(key.platform, key.ranks) for key in figures} == {("dgx-h100", 16)}
    assert apart == alone
    assert {one.platform for one in apart.ceilings} == {"dgx-h100"}
    assert not mixed.ceilings
    assert not [one for one in mixed.expectations if one.key.check == Check.NCCL_TESTS and one.key.ranks]
