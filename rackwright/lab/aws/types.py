"""Instance types of the emulator, from the catalogue: what a type's cards take, EC2 checks at launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.catalogue.model import PlatformKind, Provisioning
from rackwright.lab.aws.emulation import InstanceType

if TYPE_CHECKING:
    from rackwright.catalogue.load import Catalogue
    from rackwright.catalogue.model import NetworkCard, Platform

_ONE_CARD = (1,)
"""Of a type whose cards nobody has described: its primary interface alone."""


def instance_types(catalogue: Catalogue) -> dict[str, InstanceType]:
    """All types that EC2 provisions: those of the lab can be launched, the others only described."""
    chosen = (one for one in catalogue.platforms.values() if one.provisioning is Provisioning.EC2)
    return {platform.name: _instance_type(platform) for platform in chosen}


def _instance_type(platform: Platform) -> InstanceType:
    cards = platform.network_cards
    by_index: tuple[NetworkCard, ...] = cards.by_index if cards else ()
    return InstanceType(
        name=platform.name,
        cards=tuple(card.interfaces or 0 for card in by_index) or _ONE_CARD,
        efa_cards=frozenset(number for number, card in enumerate(by_index) if card.has_efa),
        efa_interfaces=cards.efa_interfaces if cards else 0,
        vcpus=platform.cpus or 1,
        memory_mib=platform.memory_mib or 0,
        launchable=platform.kind is PlatformKind.LAB,
    )
