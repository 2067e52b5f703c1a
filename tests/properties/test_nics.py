"""What holds for every NIC plan: of the catalogue's types, and of any cards that could be published."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rackwright.catalogue.load import load
from rackwright.catalogue.model import InterfaceType, NetworkCards
from rackwright.plan.nics import NoNicPlan, Scheme, nic_plan, with_address, with_efa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwright.plan.nics import NicPlan

ALL = list(InterfaceType)
ENA, EFA, ONLY = InterfaceType.INTERFACE, InterfaceType.EFA, InterfaceType.EFA_ONLY
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
TYPES = {
    name: platform.network_cards
    for name, platform in load().platforms.items()
    if platform.network_cards is not None
}
MANY = settings(max_examples=300, deadline=None, derandomize=True)

ANY = [[ENA], [ENA, EFA, ONLY], [ENA, EFA], [ONLY], [EFA, ONLY]]
ROOMY = [[ENA], [ENA, EFA, ONLY]]


@st.composite
def any_cards(draw: st.DrawFn, least: int = 1, carries: Sequence[Sequence[str]] = ANY) -> NetworkCards:
    """Cards of a type nobody has seen, each for `least` interfaces or more, and unlike the others."""
    count = draw(st.integers(1, 20))
    first = [kinds for kinds in carries if ENA in kinds]
    carried = [draw(st.sampled_from(carries if index else first)) for index in range(count)]
    cards = {
        str(index): {"interfaces": draw(st.integers(least, 5)), "carries": kinds}
        for index, kinds in enumerate(carried)
    }
    able = [index for index, kinds in enumerate(carried) if {EFA, ONLY} & set(kinds)]
    ena = draw(st.sets(st.sampled_from([index for index, kinds in enumerate(carried) if ENA in kinds])))
    return NetworkCards.model_validate(
        {
            "cards": cards,
            "efa_interfaces": len(able),
            "ena_cards": ",".join(map(str, sorted({0, *ena}))),
        }
    )


def refuse_misfit(cards: NetworkCards, nics: Sequence[NicPlan]) -> None:
    """What EC2 refuses at launch (EC2 User Guide: EFA limits; RunInstances)."""
    places = [(nic.network_card_index, nic.device_index) for nic in nics]
    assert places == sorted(set(places))
    for nic in nics:
        card = cards.by_index[nic.network_card_index]
        assert card.interfaces is not None
        assert nic.device_index < card.interfaces
        assert nic.interface_type in card.carries
    on_cards = Counter(nic.network_card_index for nic in nics)
    assert all(count <= (cards.by_index[card].interfaces or 0) for card, count in on_cards.items())
    efa_on_cards = Counter(nic.network_card_index for nic in with_efa(nics))
    assert max(efa_on_cards.values(), default=0) <= 1
    first = nics[0]
    assert (first.network_card_index, first.device_index) == (0, 0)
    assert first in with_address(nics)


@MANY
@given(cards=any_cards(), scheme=st.sampled_from(SCHEMES))
def test_a_plan_fits_any_cards_or_is_refused(cards: NetworkCards, scheme: Scheme) -> None:
    try:
        nics = nic_plan(cards, scheme)
    except NoNicPlan:
        return
    refuse_misfit(cards, nics)
    assert len(with_efa(nics)) == cards.efa_interfaces


@MANY
@given(cards=any_cards(least=2, carries=ROOMY), scheme=st.sampled_from(SCHEMES))
def test_no_plan_is_refused_where_each_card_has_room(cards: NetworkCards, scheme: Scheme) -> None:
    nics = nic_plan(cards, scheme)
    refuse_misfit(cards, nics)
    assert len(with_efa(nics)) == cards.efa_interfaces


@MANY
@given(cards=any_cards(), data=st.data())
def test_fewer_efa_are_spread_over_the_cards(cards: NetworkCards, data: st.DataObject) -> None:
    wanted = data.draw(st.integers(0, cards.efa_interfaces))
    try:
        nics = nic_plan(cards, "recommended", wanted)
    except NoNicPlan:
        return
    refuse_misfit(cards, nics)
    assert len(with_efa(nics)) == wanted
    able = cards.with_efa
    used = [able.index(nic.network_card_index) for nic in with_efa(nics)]
    gaps = [after - before for before, after in pairwise([*used, len(able)])]
    assert max(gaps, default=0) - min(gaps, default=0) <= 1


@pytest.mark.parametrize("scheme", ["recommended", "efa"])
@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_the_catalogue_gets_all_its_efa(name: str, scheme: Scheme) -> None:
    cards = TYPES[name]
    nics = nic_plan(cards, scheme)
    refuse_misfit(cards, nics)
    assert len(with_efa(nics)) == cards.efa_interfaces


@pytest.mark.parametrize("name", TYPES)
def test_the_recommended_plan_takes_one_address(name: str) -> None:
    assert len(with_address(nic_plan(TYPES[name], "recommended"))) == 1


@pytest.mark.parametrize("name", [name for name, cards in TYPES.items() if cards.ena_cards is not None])
def test_the_most_ip_traffic_takes_nothing_from_efa(name: str) -> None:
    cards = TYPES[name]
    nics = nic_plan(cards, "ena-max")
    refuse_misfit(cards, nics)
    assert set(nic_plan(cards, "recommended")) <= set(nics)
    carried = sum(cards.by_index[nic.network_card_index].ena_gbps or 0 for nic in with_address(nics))
    assert cards.ena_total_gbps in (None, carried)
