"""`rackwright nics`: the network interfaces of an EC2 type, as the plan has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import click

from rackwright.catalogue.load import load, nearest
from rackwright.catalogue.model import Provisioning
from rackwright.cli import frame
from rackwright.errors import GOOD, UsageError
from rackwright.plan import faults
from rackwright.plan.nics import NoNicPlan, Scheme, nic_plan, with_address, with_efa

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwright.catalogue.load import Catalogue
    from rackwright.catalogue.model import NetworkCards, Platform
    from rackwright.cli.output import Console
    from rackwright.plan.nics import NicPlan

SCHEMA = "rackwright/nics/1"
_WHERE = "rackwright nics"


@frame.command(
    "nics", example="rackwright nics p6-b300.48xlarge\nrackwright nics p5.48xlarge --scheme ena-max"
)
@click.argument("platform", shell_complete=frame.completed(lambda _: _on_ec2(load())))
@click.option(
    "--scheme",
    type=click.Choice(get_args(Scheme)),
    default="recommended",
    show_default=True,
    help="recommended: one IP address a node; efa: one on every card; ena-max: most IP traffic.",
)
def command(console: Console, platform: str, scheme: Scheme) -> int:
    """Plan the network interfaces of PLATFORM, an EC2 type of the catalogue."""
    cards = _cards(_platform(load(), platform))
    nics = _plan(platform, cards, scheme)
    console.result(
        {
            "schema": SCHEMA,
            "platform": platform,
            "scheme": scheme,
            "interfaces": [nic.model_dump(mode="json") for nic in nics],
            "efa_interfaces": len(with_efa(nics)),
            "addresses": len(with_address(nics)),
        },
        "\n".join(_text(platform, scheme, cards, nics)),
    )
    return GOOD


def _on_ec2(catalogue: Catalogue) -> dict[str, Platform]:
    return {one.name: one for one in catalogue.platforms.values() if one.provisioning is Provisioning.EC2}


def _platform(catalogue: Catalogue, name: str) -> Platform:
    on_ec2 = _on_ec2(catalogue)
    if name not in on_ec2:
        raise UsageError(
            "no such EC2 type in the catalogue",
            where=_WHERE,
            got=name,
            expected="a platform that comes up on EC2, from `rackwright catalogue list`",
            hint=nearest(name, on_ec2),
        )
    return on_ec2[name]


def _cards(platform: Platform) -> NetworkCards:
    if platform.network_cards is None:
        raise UsageError(
            f"the catalogue does not know the network cards of {platform.name}",
            code=faults.FIGURE_UNKNOWN,
            where=_WHERE,
            got="no network_cards",
            expected="network_cards with their source",
            hint=f"add them to the catalogue entry of {platform.name}",
        )
    return platform.network_cards


def _plan(platform: str, cards: NetworkCards, scheme: Scheme) -> tuple[NicPlan, ...]:
    try:
        return nic_plan(cards, scheme)
    except NoNicPlan as misfit:
        raise UsageError(
            f"{platform}: {misfit.message}",
            code=faults.NO_NIC_PLAN,
            where=_WHERE,
            got=misfit.got,
            expected=misfit.expected,
            hint=misfit.hint,
        ) from None


def _text(platform: str, scheme: str, cards: NetworkCards, nics: Sequence[NicPlan]) -> Iterator[str]:
    rate = f", together {cards.efa_total_gbps:g} Gb/s" if cards.efa_total_gbps else ""
    yield f"{platform}, scheme {scheme}"
    yield f"interfaces  {len(nics):>3}"
    yield f"with EFA    {len(with_efa(nics)):>3}{rate}"
    yield f"with an IP  {len(with_address(nics)):>3}"
    yield "card  device  type"
    for nic in nics:
        yield f"{nic.network_card_index:>4}  {nic.device_index:>6}  {nic.interface_type}"
