"""NIC plans where counting cards goes wrong, and what a plan refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rackwright.catalogue.model import NetworkCards
from rackwright.errors import SpecInvalid
from rackwright.plan.nics import NoNicPlan, nic_plan, with_address, with_efa

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan
    from rackwright.plan.nics import NicPlan

    Values = dict[str, Any]
    PlanOf = Callable[..., tuple[Plan, Lock]]

ALL = ["interface", "efa", "efa-only"]


def short(nics: Sequence[NicPlan]) -> list[tuple[int, int, str]]:
    return [(nic.network_card_index, nic.device_index, nic.interface_type.value) for nic in nics]


def cards_of(catalogue: Catalogue, name: str) -> NetworkCards:
    found = catalogue.platforms[name].network_cards
    assert found is not None
    return found


def test_card_0_of_a_b300_carries_no_efa(catalogue: Catalogue) -> None:
    """github.com/aws/aws-parallelcluster/issues/7143"""
    nics = short(nic_plan(cards_of(catalogue, "p6-b300.48xlarge"), "recommended"))
    assert nics == [(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17))]


def test_a_gb200_has_efa_on_odd_cards(catalogue: Catalogue) -> None:
    cards = cards_of(catalogue, "p6e-gb200.36xlarge")
    eight = short(nic_plan(cards, "recommended"))
    assert eight == [(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 16, 2))]
    assert [card for card, _, kind in short(nic_plan(cards, "efa", 4)) if kind == "efa-only"] == [1, 5, 9, 13]


def test_a_p5_takes_one_address_or_32_or_carries_the_most_ip(catalogue: Catalogue) -> None:
    cards = cards_of(catalogue, "p5.48xlarge")
    assert [len(with_address(nic_plan(cards, scheme))) for scheme in ("recommended", "efa")] == [1, 32]
    ena = [nic for nic in nic_plan(cards, "ena-max") if nic.interface_type == "interface"]
    assert short(ena) == [(0, 0, "interface"), *((card, 1, "interface") for card in range(4, 32, 4))]


def test_one_card_has_both(catalogue: Catalogue) -> None:
    nics = nic_plan(cards_of(catalogue, "p5.4xlarge"), "recommended")
    assert short(nics) == [(0, 0, "interface"), (0, 1, "efa-only")]


def test_a_card_for_one_interface_has_no_device_1() -> None:
    """github.com/eksctl-io/eksctl/issues/7520"""
    cards = NetworkCards.model_validate(
        {
            "cards": {"0": {"interfaces": 1, "carries": ALL}, "1": {"interfaces": 1, "carries": ALL}},
            "efa_interfaces": 2,
        }
    )
    assert short(nic_plan(cards, "efa")) == [(0, 0, "efa"), (1, 0, "efa")]
    with pytest.raises(NoNicPlan) as refused:
        nic_plan(cards, "recommended")
    assert refused.value.got == "efa-only at device index 1"
    assert "below 1" in refused.value.expected


def test_a_limit_that_nobody_states_is_not_guessed() -> None:
    cards = NetworkCards.model_validate(
        {"cards": {"0": {"interfaces": 2, "carries": ALL}, "1": {"carries": ALL}}, "efa_interfaces": 2}
    )
    with pytest.raises(NoNicPlan, match="no source tells how many interfaces card 1 takes"):
        nic_plan(cards, "recommended")


def test_more_efa_than_there_are(catalogue: Catalogue) -> None:
    with pytest.raises(NoNicPlan, match="fewer EFA interfaces"):
        nic_plan(cards_of(catalogue, "trn2.48xlarge"), "recommended", 17)


@pytest.fixture
def efa_zone(zone: Values) -> Values:
    zone["fabrics"] = {"efa": {"kind": "efa"}}
    zone["pools"]["trn2"]["fabrics"] = {"efa": {}}
    return zone


def test_a_pool_gets_the_plan_of_its_fabric(plan_of: PlanOf, catalogue: Catalogue, efa_zone: Values) -> None:
    plan, _ = plan_of(efa_zone)
    assert plan.pools["trn2"].nics == nic_plan(cards_of(catalogue, "trn2.48xlarge"), "recommended")
    assert "nics" not in plan.not_planned
    efa_zone["fabrics"]["efa"]["scheme"] = "efa"
    efa_zone["pools"]["trn2"]["fabrics"]["efa"] = {"nics": 4}
    plan, _ = plan_of(efa_zone)
    assert [nic.network_card_index for nic in with_efa(plan.pools["trn2"].nics)] == [0, 4, 8, 12]


def test_a_pool_without_efa_has_one_interface(plan_of: PlanOf, zone: Values, hall: Values) -> None:
    zone["pools"]["trn2"]["fabrics"] = {}
    plan, _ = plan_of(zone)
    assert short(plan.pools["trn2"].nics) == [(0, 0, "interface")]
    plan, _ = plan_of(hall)
    assert plan.pools["node"].nics == ()


@pytest.mark.parametrize(
    ("platform", "scheme", "code"),
    [("trn2.48xlarge", "ena-max", "NIC001"), ("lab1.2rail", "recommended", "PLAT003")],
)
def test_what_the_catalogue_does_not_know_is_refused(
    plan_of: PlanOf, efa_zone: Values, platform: str, scheme: str, code: str
) -> None:
    efa_zone["fabrics"]["efa"]["scheme"] = scheme
    efa_zone["pools"]["trn2"]["platform"] = platform
    with pytest.raises(SpecInvalid) as refused:
        plan_of(efa_zone)
    (finding,) = refused.value.findings
    assert (finding.code, str(finding.path)) == (code, "pools.trn2.fabrics.efa")
    assert all([finding.message, finding.got, finding.expected, finding.hint])
