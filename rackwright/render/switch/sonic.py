"""A switch in, what is loaded into SONiC's configuration database out (`config load`).

It holds what the plan decides, and is loaded on top of what the machine has of its own: ``hwsku``,
``platform``, ``mac`` and the lanes of each port. BGP is that of the unified routing configuration.

Source: SONiC configuration database manual (sonic-yang-models, Configuration.md); SONiC FRR-BGP extended
unified configuration management; RoCE marks and thresholds: SONiC QoS and buffers, dynamic model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rackwright import canonical
from rackwright.plan.fabric.links import LEAF
from rackwright.render.switch.model import FIRST_VLAN, FIRST_VNI

if TYPE_CHECKING:
    from rackwright.render.switch.model import Port, Switch

Table: TypeAlias = "dict[str, dict[str, canonical.Json]]"

QOS = "ROCE"
"""Name of all maps and profiles."""
LOSSLESS, NOTIFICATIONS = 3, 6
"""Traffic classes, and with them queues and priority groups."""
_CLASSES = range(8)
_DSCPS = range(64)
_WRED = {"green_min_threshold": "150000", "green_max_threshold": "1500000", "green_drop_probability": "100"}
"""Bytes in a queue from which on packets are marked, and from which on all are (as Cumulus marks RoCE)."""


def name(switch: Switch, port: Port) -> str:
    """``Ethernet96`` is the port whose first lane is the 97th of the switch."""
    return f"Ethernet{(port.cage - 1) * switch.lanes + port.part * switch.lanes // port.parts}"


def write(switch: Switch) -> str:
    """The file."""
    return canonical.dumps(
        {**_host(switch), **_ports(switch), **_qos(switch), **_bgp(switch), **_overlay(switch)}
    )


def _host(switch: Switch) -> dict[str, Table]:
    kind = "LeafRouter" if switch.role == LEAF else "SpineRouter"
    return {
        "DEVICE_METADATA": {
            "localhost": {
                "hostname": switch.name,
                "type": kind,
                "bgp_asn": str(switch.asn),
                "buffer_model": "dynamic",
                "docker_routing_config_mode": "unified",
                "frr_mgmt_framework_config": "true",
            }
        },
        "LOOPBACK_INTERFACE": {"Loopback0": {}, f"Loopback0|{switch.loopback}/32": {}},
    }


def _ports(switch: Switch) -> dict[str, Table]:
    split: Table = {_cage(switch, port): {"brkout_mode": _mode(port)} for port in switch.ports}
    lengths: dict[str, canonical.Json] = {
        name(switch, port): f"{port.length_m}m" for port in switch.ports if port.length_m is not None
    }
    return {
        "BREAKOUT_CFG": split,
        "CABLE_LENGTH": {"AZURE": lengths},
        "PORT": {name(switch, port): _port(switch, port) for port in switch.ports},
        "INTERFACE": {name(switch, port): {"ipv6_use_link_local_only": "enable"} for port in switch.links},
    }


def _cage(switch: Switch, port: Port) -> str:
    return f"Ethernet{(port.cage - 1) * switch.lanes}"


def _mode(port: Port) -> str:
    return f"{port.parts}x{port.rate_gbps:g}G"


def _port(switch: Switch, port: Port) -> dict[str, canonical.Json]:
    return {
        "admin_status": "up",
        "description": f"{port.neighbour} {port.neighbour_port}",
        "fec": "rs",
        "mtu": str(switch.settings.mtu),
        "pfc_asym": "off",
        "speed": f"{port.rate_gbps * 1000:.0f}",
    }


def _qos(switch: Switch) -> dict[str, Table]:
    names = [name(switch, port) for port in switch.ports]
    same: dict[str, canonical.Json] = {str(one): str(one) for one in _CLASSES}
    classes = {switch.settings.dscp: LOSSLESS, switch.settings.cnp_dscp: NOTIFICATIONS}
    return {
        "DSCP_TO_TC_MAP": {QOS: {str(dscp): str(classes.get(dscp, 0)) for dscp in _DSCPS}},
        "TC_TO_QUEUE_MAP": {QOS: same},
        "TC_TO_PRIORITY_GROUP_MAP": {QOS: {**same, str(NOTIFICATIONS): "0"}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {QOS: same},
        "PORT_QOS_MAP": {one: {**_maps(), "pfc_enable": str(LOSSLESS)} for one in names},
        "WRED_PROFILE": {QOS: {"ecn": "ecn_green", "wred_green_enable": "true", **_WRED}},
        "SCHEDULER": {
            "best-effort": {"type": "DWRR", "weight": "50"},
            "lossless": {"type": "DWRR", "weight": "50"},
            "notifications": {"type": "STRICT"},
        },
        "QUEUE": {
            f"{one}|{queue}": {"scheduler": scheduler, **({"wred_profile": QOS} if queue == LOSSLESS else {})}
            for one in names
            for queue, scheduler in (
                (0, "best-effort"),
                (LOSSLESS, "lossless"),
                (NOTIFICATIONS, "notifications"),
            )
        },
        "BUFFER_PG": {f"{one}|{LOSSLESS}": {"profile": "NULL"} for one in names},
        "PFC_WD": {
            "GLOBAL": {"POLL_INTERVAL": "200"},
            **{one: {"action": "drop", "detection_time": "400", "restoration_time": "400"} for one in names},
        },
    }


def _maps() -> dict[str, canonical.Json]:
    return dict.fromkeys(("dscp_to_tc_map", "tc_to_queue_map", "tc_to_pg_map", "pfc_to_queue_map"), QOS)


def _bgp(switch: Switch) -> dict[str, Table]:
    peers = [f"default|{name(switch, port)}" for port in switch.links]
    all_routes: dict[str, canonical.Json] = {"route_map_in": ["ALL"], "route_map_out": ["ALL"]}
    evpn: dict[str, canonical.Json] = {} if switch.role == LEAF else {"unchanged_nexthop": "true"}
    families = {"ipv4_unicast": all_routes, "l2vpn_evpn": {**all_routes, **evpn}}
    ends: dict[str, canonical.Json] = {"advertise-all-vni": "true"} if switch.role == LEAF else {}
    return {
        "BGP_GLOBALS": {"default": {"local_asn": str(switch.asn), "router_id": switch.loopback}},
        "BGP_GLOBALS_AF": {
            "default|ipv4_unicast": {"max_ebgp_paths": str(max(len(peers), 1))},
            "default|l2vpn_evpn": ends,
        },
        "BGP_NEIGHBOR": {peer: {"peer_type": "external", "admin_status": "true"} for peer in peers},
        "BGP_NEIGHBOR_AF": {
            f"{peer}|{family}": {"admin_status": "true", **maps}
            for peer in peers
            for family, maps in families.items()
        },
        "ROUTE_MAP": {"ALL|1": {"route_operation": "permit"}},
        "ROUTE_REDISTRIBUTE": {"default|connected|bgp|ipv4": {}},
    }


def _overlay(switch: Switch) -> dict[str, Table]:
    """A VLAN at the ports of each rail, and its tunnel."""
    if switch.role != LEAF:
        return {}
    vlans = {rail: f"Vlan{FIRST_VLAN + rail - 1}" for rail in switch.rails}
    vnis = {rail: FIRST_VNI + rail - 1 for rail in switch.rails}
    return {
        "VLAN": {vlan: {"vlanid": vlan.removeprefix("Vlan")} for vlan in vlans.values()},
        "VLAN_MEMBER": {
            f"{vlans[port.rail]}|{name(switch, port)}": {"tagging_mode": "untagged"}
            for port in switch.ports
            if port.rail is not None
        },
        "VXLAN_TUNNEL": {"vtep": {"src_ip": switch.loopback}},
        "VXLAN_TUNNEL_MAP": {
            f"vtep|map_{vnis[rail]}_{vlan}": {"vlan": vlan, "vni": str(vnis[rail])}
            for rail, vlan in vlans.items()
        },
        "VXLAN_EVPN_NVO": {"nvo": {"source_vtep": "vtep"}},
    }
