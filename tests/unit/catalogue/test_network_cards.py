"""Network cards: they hang together, and agree with what EC2 has said of its types."""

from __future__ import annotations

import gzip
import json
from importlib.resources import files
from typing import Any

import pytest
from pydantic import ValidationError

from rackwright.catalogue.load import load
from rackwright.catalogue.model import NetworkCards, PlatformKind

RECORD = files("moto") / "ec2/resources/instance_types.json.gz"
"""DescribeInstanceTypes, as moto has recorded it."""
ALL = ["interface", "efa", "efa-only"]
ON_EC2 = {name: platform for name, platform in load().platforms.items() if platform.kind is PlatformKind.AWS}
UNRECORDED = {"p6e-gb200.36xlarge"}


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    types: dict[str, Any] = json.loads(gzip.decompress(RECORD.read_bytes()))
    return types


@pytest.mark.parametrize("name", sorted(ON_EC2.keys() - UNRECORDED))
def test_cards_are_as_ec2_describes_them(name: str, recorded: dict[str, Any]) -> None:
    cards, described = ON_EC2[name].network_cards, recorded[name]["NetworkInfo"]
    assert cards is not None
    limits = [card["MaximumNetworkInterfaces"] for card in described["NetworkCards"]]
    assert [card.interfaces for card in cards.by_index] == limits
    assert cards.efa_interfaces == described.get("EfaInfo", {}).get("MaximumEfaInterfaces", 0)
    assert ON_EC2[name].cpus in (None, recorded[name]["VCpuInfo"]["DefaultVCpus"])
    assert (ON_EC2[name].memory_mib or 0) < recorded[name]["MemoryInfo"]["SizeInMiB"]


def test_what_is_not_recorded_is_said() -> None:
    assert ON_EC2.keys() >= UNRECORDED


@pytest.mark.parametrize("name", sorted(ON_EC2))
def test_rates_add_up(name: str) -> None:
    cards = ON_EC2[name].network_cards
    assert cards is not None
    rates = [cards.by_index[index].efa_gbps or 0 for index in cards.with_efa]
    if name == "p6e-gb200.36xlarge":  # its cards share physical NICs in pairs
        assert cards.efa_total_gbps == sum(rates) / 2
    else:
        assert (cards.efa_total_gbps or 0) == sum(rates)


def test_cards_by_index() -> None:
    cards = NetworkCards.model_validate(
        {
            "cards": {
                "1-3/2": {"interfaces": 1, "carries": ["efa-only"]},
                "0": {"interfaces": 4, "carries": ["interface"]},
                "2": {"interfaces": 2, "carries": ALL},
            },
            "efa_interfaces": 2,
            "efa_cards": "1-3/2",
        }
    )
    assert [card.interfaces for card in cards.by_index] == [4, 1, 2, 1]
    assert cards.with_efa == (1, 3)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"cards": {"0-1": {"carries": ALL}, "1": {"carries": ALL}}, "efa_interfaces": 2}, "once"),
        ({"cards": {"1": {"carries": ALL}}, "efa_interfaces": 1}, "from 0 on"),
        ({"cards": {"0": {"carries": ["efa-only"]}}, "efa_interfaces": 1}, "cannot be efa-only"),
        ({"cards": {"0": {"carries": ALL}}, "efa_interfaces": 2}, "1 cards for them"),
        ({"cards": {"0": {"carries": ["interface"]}}, "efa_interfaces": 1, "efa_cards": "0"}, "without EFA"),
        ({"cards": {"0": {"carries": ALL}}, "efa_interfaces": 1, "efa_cards": "7"}, "without EFA"),
        ({"cards": {"0": {"carries": ALL}}, "efa_interfaces": 1, "ena_cards": "7"}, "without ENA"),
        ({"cards": {"x": {"carries": ALL}}, "efa_interfaces": 1}, "x"),
        ({"cards": {"0": {"carries": []}}, "efa_interfaces": 0}, "at least 1"),
    ],
)
def test_cards_that_do_not_hang_together(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        NetworkCards.model_validate(values)
