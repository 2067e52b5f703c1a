"""Network cards of an EC2 type and a scheme in, the network interfaces of each node out.

Nothing is counted or guessed: which cards there are, what each carries and how many interfaces it
takes is the catalogue's. EC2 refuses a device index that is not below the card's limit, a first
interface that is efa-only, and a second EFA interface on a card.

Source: EC2 User Guide, maximize network bandwidth on instances with multiple network cards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwright.catalogue.model import InterfaceType
from rackwright.spec.base import Misfit, Model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rackwright.catalogue.model import NetworkCard, NetworkCards

Scheme: TypeAlias = Literal["recommended", "efa", "ena-max"]
"""``recommended``: one IP address, EFA beside it. ``efa``: EFA with an IP address on every card.
``ena-max``: as recommended, and as many ENA interfaces as carry the most IP traffic."""


class NicPlan(Model):
    """One network interface of every node of a pool, as RunInstances takes it."""

    network_card_index: int
    device_index: int
    """Of its card; below the card's limit."""
    interface_type: InterfaceType


class NoNicPlan(Misfit):
    """The catalogue does not say enough of the cards, or they do not carry what is asked."""


PRIMARY = NicPlan(network_card_index=0, device_index=0, interface_type=InterfaceType.INTERFACE)
"""What every instance has: the interface of its address."""


def with_efa(nics: Iterable[NicPlan]) -> list[NicPlan]:
    """Those that are an EFA."""
    return [nic for nic in nics if nic.interface_type is not InterfaceType.INTERFACE]


def with_address(nics: Iterable[NicPlan]) -> list[NicPlan]:
    """Those that take an IP address of the subnet."""
    return [nic for nic in nics if nic.interface_type is not InterfaceType.EFA_ONLY]


def nic_plan(cards: NetworkCards, scheme: Scheme, efas: int | None = None) -> tuple[NicPlan, ...]:
    """The interfaces of a node, by card and device index.

    Args:
        cards: of its type.
        scheme: how EFA and IP share them.
        efas: EFA interfaces that are wanted, evenly spread over the cards; None for all.

    Raises:
        NoNicPlan: a figure is missing, or a card does not take what the scheme puts on it.
    """
    chosen = _chosen(cards, efas)
    wanted = list(_classic(cards, chosen) if scheme == "efa" else _recommended(chosen))
    if scheme == "ena-max":
        wanted += _more_ena(cards)
    for nic in wanted:
        _refuse_misfit(cards, nic)
    return tuple(sorted(wanted, key=lambda nic: (nic.network_card_index, nic.device_index)))


def _chosen(cards: NetworkCards, efas: int | None) -> tuple[int, ...]:
    """Cards that get an EFA interface; 4 of the 8 of a GB200 are 1, 5, 9 and 13."""
    able = cards.with_efa
    wanted = len(able) if efas is None else efas
    if wanted > len(able):
        raise NoNicPlan(
            "fewer EFA interfaces than are asked for", got=str(wanted), expected=f"at most {len(able)}"
        )
    return tuple(able[number * len(able) // wanted] for number in range(wanted))


def _recommended(chosen: tuple[int, ...]) -> Iterator[NicPlan]:
    """The EC2 User Guide's: the first interface is ENA alone, all EFA are efa-only."""
    yield PRIMARY
    for index in chosen:
        yield _nic(index, 1 if index == 0 else 0, InterfaceType.EFA_ONLY)


def _classic(cards: NetworkCards, chosen: tuple[int, ...]) -> Iterator[NicPlan]:
    """EFA with ENA on every card, device 1 but for the first; efa-only where a card carries no ENA."""
    if 0 not in chosen:
        yield PRIMARY
    for index in chosen:
        card = cards.by_index[index]
        kind = InterfaceType.EFA if InterfaceType.EFA in card.carries else InterfaceType.EFA_ONLY
        yield _nic(index, 0 if index == 0 or card.interfaces == 1 else 1, kind)


def _more_ena(cards: NetworkCards) -> Iterator[NicPlan]:
    """ENA as device 1 of the cards that together carry the most IP traffic; card 0 has its own."""
    most = cards.with_most_ena
    if most is None:
        raise NoNicPlan(
            "no source tells which cards together carry the most IP traffic",
            got="no ena_cards",
            expected="the cards of the maker's guide",
            hint="use the scheme recommended, or add the figure with its source to the catalogue",
        )
    for index in most:
        if index != 0:
            yield _nic(index, 1, InterfaceType.INTERFACE)


def _nic(card: int, device: int, kind: InterfaceType) -> NicPlan:
    return NicPlan(network_card_index=card, device_index=device, interface_type=kind)


def _refuse_misfit(cards: NetworkCards, nic: NicPlan) -> None:
    card = cards.by_index[nic.network_card_index]
    if card.interfaces is None:
        raise NoNicPlan(
            f"no source tells how many interfaces card {nic.network_card_index} takes",
            got="no interfaces",
            expected="the most interfaces of the card, with its source",
            hint="add the figure to the catalogue; a device index at or above it is refused at launch",
        )
    if nic.device_index >= card.interfaces or nic.interface_type not in card.carries:
        raise _unfit(card, nic)


def _unfit(card: NetworkCard, nic: NicPlan) -> NoNicPlan:
    return NoNicPlan(
        f"card {nic.network_card_index} does not take what the scheme puts on it",
        got=f"{nic.interface_type} at device index {nic.device_index}",
        expected=f"{' or '.join(card.carries)} at a device index below {card.interfaces}",
        hint="choose another scheme",
    )
