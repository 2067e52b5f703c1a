"""A switch in, Cumulus Linux's startup.yaml out: NVUE's tree of what is set.

Source: Cumulus Linux 5.14 user guide, read 2026-11-28: NVUE CLI (snippets of startup.yaml), BGP unnumbered,
EVPN, EVPN multihoming, RoCE (`qos roce` sets trust, PFC, ECN and ETS of all ports in one).
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from ruamel.yaml import YAML

from rackwright.plan.fabric.links import LEAF
from rackwright.render.switch.model import FIRST_VLAN, FIRST_VNI
from rackwright.render.switch.roce import figures

if TYPE_CHECKING:
    from rackwright.canonical import Json
    from rackwright.render.switch.model import Port, Segment, Switch

ON: dict[str, Json] = {"enable": "on"}
UNDERLAY = "underlay"
"""Peer group of all links between switches."""


def name(port: Port) -> str:
    """``swp12``, or ``swp12s0`` of a cage that is split."""
    return f"swp{port.cage}" if port.parts == 1 else f"swp{port.cage}s{port.part}"


def write(switch: Switch) -> str:
    """The file."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = 110
    yaml.representer.ignore_aliases = lambda _: True
    text = StringIO()
    yaml.dump([{"set": _tree(switch)}], text)
    return text.getvalue()


def _tree(switch: Switch) -> dict[str, Json]:
    overlay: dict[str, Json] = {}
    if switch.role == LEAF:
        tunnel: dict[str, Json] = {**ON, "source": {"address": switch.loopback}}
        overlay = {
            "bridge": {"domain": {"br_default": {"vlan": _networks(switch)}}},
            "nve": {"vxlan": {**tunnel, **({"arp-nd-suppress": "on"} if switch.bonded else {})}},
        }
    return {
        "system": {"hostname": switch.name},
        "interface": _interfaces(switch),
        "qos": {"roce": {**ON, "mode": "lossless"}, **_marks(switch)},
        "evpn": {**ON, **({"multihoming": ON} if switch.bonded else {})},
        "router": {"bgp": {**ON, "autonomous-system": switch.asn, "router-id": switch.loopback}},
        "vrf": {"default": {"router": {"bgp": _bgp(switch)}}},
        **overlay,
    }


def _networks(switch: Switch) -> dict[str, Json]:
    """VLAN of each rail → the tunnel network that joins it over all leaves."""
    return {str(FIRST_VLAN + rail - 1): {"vni": {str(FIRST_VNI + rail - 1): {}}} for rail in switch.rails}


def _marks(switch: Switch) -> dict[str, Json]:
    """Other marks than the standard ones, mapped to the same priorities."""
    known = figures()
    standard = {(known.dscp, known.lossless), (known.cnp_dscp, known.notifications)}
    wanted = (switch.settings.dscp, known.lossless), (switch.settings.cnp_dscp, known.notifications)
    other: dict[str, Json] = {
        str(mark): {"switch-priority": priority}
        for mark, priority in sorted(wanted)
        if (mark, priority) not in standard
    }
    return {"mapping": {"default-global": {"trust": "both", "dscp": other}}} if other else {}


def _interfaces(switch: Switch) -> dict[str, Json]:
    found: dict[str, Json] = {"lo": {"type": "loopback", "ip": {"address": {f"{switch.loopback}/32": {}}}}}
    for port in switch.ports:
        if port.parts > 1:
            found[f"swp{port.cage}"] = {"type": "swp", "link": {"breakout": {f"{port.parts}x": {}}}}
        found[name(port)] = _interface(switch, port)
    return {**found, **_bonds(switch)}


def _interface(switch: Switch, port: Port) -> dict[str, Json]:
    made: dict[str, Json] = {
        "type": "swp",
        "description": f"{port.neighbour} {port.neighbour_port}",
        "link": {"mtu": switch.settings.mtu, "speed": f"{port.rate_gbps:g}G", "state": {"up": {}}},
    }
    if port.rail is not None and port.segment is None:
        made["bridge"] = _access(port.rail)
    if port.rail is None and switch.bonded:
        made["evpn"] = {"multihoming": {"uplink": "on"}}
    return made


def _access(rail: int) -> dict[str, Json]:
    return {"domain": {"br_default": {"access": FIRST_VLAN + rail - 1}}}


def bond(segment: Segment) -> str:
    """What it is called on both leaves."""
    return f"bond{segment.number}"


def _bonds(switch: Switch) -> dict[str, Json]:
    """A bond of one link for each NIC: its other link is the same bond of the leaf beside this one."""
    return {
        bond(segment): {
            "type": "bond",
            "bond": {"member": {name(port): {}}},
            "bridge": _access(port.rail or 1),
            "link": {"mtu": switch.settings.mtu},
            "evpn": {
                "multihoming": {
                    "segment": {
                        **ON,
                        "local-id": segment.number,
                        "mac-address": segment.mac,
                        "df-preference": segment.preference,
                    }
                }
            },
        }
        for port, segment in switch.bonded
    }


def _bgp(switch: Switch) -> dict[str, Json]:
    return {
        **ON,
        "address-family": {
            "ipv4-unicast": {**ON, "redistribute": {"connected": ON}},
            "l2vpn-evpn": ON,
        },
        "neighbor": {name(port): {"peer-group": UNDERLAY, "type": "unnumbered"} for port in switch.links},
        "peer-group": {UNDERLAY: {"remote-as": "external", "address-family": {"l2vpn-evpn": ON}}},
    }
