"""A switch in, Cumulus Linux's startup.yaml out: NVUE's tree of what is set.

Source: Cumulus Linux user guide: NVUE CLI (snippets of startup.yaml), BGP unnumbered, EVPN, RoCE
(`qos roce` sets trust, PFC, ECN and ETS of all ports in one).
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from ruamel.yaml import YAML

from rackwright.plan.fabric.links import LEAF
from rackwright.render.switch.model import FIRST_VLAN, FIRST_VNI

if TYPE_CHECKING:
    from rackwright.canonical import Json
    from rackwright.render.switch.model import Port, Switch

ON: dict[str, Json] = {"enable": "on"}
UNDERLAY = "underlay"
"""Peer group of all links between switches."""
STANDARD_DSCP, STANDARD_CNP = 26, 48
"""What `qos roce` maps to its priorities unless told otherwise."""


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
        overlay = {
            "bridge": {"domain": {"br_default": {"vlan": _networks(switch)}}},
            "nve": {"vxlan": {**ON, "source": {"address": switch.loopback}}},
        }
    return {
        "system": {"hostname": switch.name},
        "interface": _interfaces(switch),
        "qos": {"roce": {**ON, "mode": "lossless"}, **_marks(switch)},
        "evpn": ON,
        "router": {"bgp": {**ON, "autonomous-system": switch.asn, "router-id": switch.loopback}},
        "vrf": {"default": {"router": {"bgp": _bgp(switch)}}},
        **overlay,
    }


def _networks(switch: Switch) -> dict[str, Json]:
    """VLAN of each rail → the tunnel network that joins it over all leaves."""
    return {str(FIRST_VLAN + rail - 1): {"vni": {str(FIRST_VNI + rail - 1): {}}} for rail in switch.rails}


def _marks(switch: Switch) -> dict[str, Json]:
    """Other marks than the standard ones, mapped to the same priorities."""
    marks = (switch.settings.dscp, STANDARD_DSCP, 3), (switch.settings.cnp_dscp, STANDARD_CNP, 6)
    other = {
        str(mark): {"switch-priority": priority} for mark, standard, priority in marks if mark != standard
    }
    return {"mapping": {"default-global": {"dscp": other}}} if other else {}


def _interfaces(switch: Switch) -> dict[str, Json]:
    found: dict[str, Json] = {"lo": {"type": "loopback", "ip": {"address": {f"{switch.loopback}/32": {}}}}}
    for port in switch.ports:
        if port.parts > 1:
            found[f"swp{port.cage}"] = {"type": "swp", "link": {"breakout": {f"{port.parts}x": {}}}}
        found[name(port)] = _interface(switch, port)
    return found


def _interface(switch: Switch, port: Port) -> dict[str, Json]:
    made: dict[str, Json] = {
        "type": "swp",
        "description": f"{port.neighbour} {port.neighbour_port}",
        "link": {"mtu": switch.settings.mtu, "speed": f"{port.rate_gbps:g}G", "state": {"up": {}}},
    }
    if port.rail is not None:
        made["bridge"] = {"domain": {"br_default": {"access": FIRST_VLAN + port.rail - 1}}}
    return made


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
