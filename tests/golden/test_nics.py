"""The NIC plan of every EC2 type in every scheme, or why there is none."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, get_args

import pytest

from rackwright.catalogue.load import load
from rackwright.plan.nics import NoNicPlan, Scheme, nic_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwright.catalogue.model import NetworkCards

CARDS = {name: one.network_cards for name, one in load().platforms.items() if one.network_cards is not None}


def _lines(cards: NetworkCards, scheme: Scheme) -> Iterator[str]:
    yield f"{scheme}:"
    try:
        nics = nic_plan(cards, scheme)
    except NoNicPlan as misfit:
        yield f"  refused: {misfit.message}"
        return
    for card, on_it in groupby(nics, key=lambda nic: nic.network_card_index):
        devices = ", ".join(f"{nic.device_index} {nic.interface_type.value}" for nic in on_it)
        yield f"  card {card}: {devices}"


@pytest.mark.parametrize("name", CARDS)
def test_the_plan(name: str, golden: Callable[[str, str], None]) -> None:
    lines = [line for scheme in get_args(Scheme) for line in _lines(CARDS[name], scheme)]
    golden(f"nics/{name}.txt", "\n".join(lines) + "\n")
