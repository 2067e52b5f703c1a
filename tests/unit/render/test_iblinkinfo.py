"""`iblinkinfo --line`: rates of lanes are the speeds of the plan, on both lines of a cable."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.catalogue.load import load as load_catalogue
from rackwright.errors import UsageError
from rackwright.plan.build import build
from rackwright.render.fabric import iblinkinfo
from rackwright.render.fabric.network import SPEEDS, Network, Plug, network
from rackwright.validate.fabric.compare import Kind, compare
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.spec.load import LoadedSpec

SLOW = Plug("H-0252580000000100", 1)
"""The first adapter of the first node."""


@pytest.fixture(scope="module")
def planned(make_loaded: Callable[..., LoadedSpec]) -> Network:
    return network(build(make_loaded(superpod.values(32)), load_catalogue(), None)[0], "compute")


def line(net: Network, plug: Plug, came_up: str) -> str:
    """As infiniband-diags 44 prints it."""
    own, peer = net.devices[plug.device], net.links[plug].peer
    other = net.devices[peer.device]
    return (
        f'0x{own.guid} "{own.name:>20}"    118   {plug.port:2}[  ] ==( {came_up} Active/  LinkUp)==>'
        f'  0x{other.guid}    124   {peer.port:2}[  ] "{other.name}" ( )\n'
    )


def read(net: Network, slow: str = "4X 106.25 Gbps") -> Network:
    ends = {SLOW, net.links[SLOW].peer}
    text = "".join(line(net, plug, slow if plug in ends else "4X 106.25 Gbps") for plug in net.links)
    return iblinkinfo.read(text, "links.txt", net)


def test_a_network_as_planned_has_no_difference(planned: Network) -> None:
    found = compare(planned, read(planned))
    assert found.differences == ()
    assert found.agreed * 2 == len(planned.links)


@pytest.mark.parametrize(
    ("slow", "kind", "note"),
    [
        ("4X 53.125 Gbps", Kind.WRONG_SPEED, "4xHDR, planned 4xNDR"),
        ("4X 25.78125 Gbps", Kind.WRONG_SPEED, "4xEDR, planned 4xNDR"),
        ("1X 106.25 Gbps", Kind.WRONG_WIDTH, "1xNDR, planned 4xNDR"),
        ("4X 999.9 Gbps", Kind.WRONG_SPEED, "4x999.9, planned 4xNDR"),
    ],
)
def test_a_cable_that_came_up_slow(planned: Network, slow: str, kind: Kind, note: str) -> None:
    (difference,) = compare(planned, read(planned, slow)).differences
    assert (difference.kind, difference.note) == (kind, note)


@pytest.mark.parametrize(("rate_gbps", "speed"), [one for one in SPEEDS.items() if one[1][0] == "4"])
def test_a_lane_carries_a_quarter_of_its_link_and_its_coding(rate_gbps: float, speed: str) -> None:
    """64b/66b up to EDR, and PAM4 with its forward error correction beyond: 3 and 6 % more on the wire."""
    (lane_gbps,) = (float(rate) for rate, name in iblinkinfo.LANES.items() if name == speed[2:])
    assert rate_gbps < 4 * lane_gbps < 1.07 * rate_gbps


def test_what_hangs_on_nothing_has_no_link(planned: Network) -> None:
    text = line(planned, SLOW, "4X 106.25 Gbps")
    down = (
        '0x0252570101000001 "compute-leaf-001"  1  9[  ] ==(                Down/ Polling)==>  [  ] "" ( )\n'
    )
    found = iblinkinfo.read(text + down, "links.txt", planned)
    assert Plug("S-0252570101000001", 9) not in found.links
    assert len(found.links) == 2


def test_a_line_that_is_none_is_refused_with_its_place(planned: Network) -> None:
    with pytest.raises(UsageError) as caught:
        iblinkinfo.read(line(planned, SLOW, "4X 106.25 Gbps") + "hello\n", "links.txt", planned)
    assert (caught.value.where, caught.value.got) == ("links.txt:2", "hello")


def test_unknown_devices_are_switches_by_their_ports(planned: Network) -> None:
    """A name that is not planned: three ports make a switch of it, two an adapter."""
    here, there = planned.devices[SLOW.device], planned.devices[planned.links[SLOW].peer.device]
    renamed = Network(
        {
            **planned.devices,
            here.id: here._replace(name="localhost mlx5_0"),
            there.id: there._replace(name="MF0;switch:MQM9700/U1"),
        },
        planned.links,
    )
    text = "".join(line(renamed, plug, "4X 106.25 Gbps") for plug in renamed.links)
    found = iblinkinfo.read(text, "links.txt", planned)
    kinds = {device.name: device.id[0] for device in found.devices.values()}
    assert (kinds["localhost mlx5_0"], kinds["MF0;switch:MQM9700/U1"]) == ("H", "S")
