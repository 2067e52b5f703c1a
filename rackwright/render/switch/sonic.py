"""A switch in, what is loaded into SONiC's configuration database out (`config load`).

It holds what the plan decides, and is loaded on top of what the machine has of its own: ``hwsku``,
``platform``, ``mac`` and the lanes of each port. BGP is that of the unified routing configuration.

Source: SONiC's YANG models, of which tests/unit/render/sonic_yang.yaml says which fields are used and where
they were read; frrcfgd's tables of the unified routing configuration; the dynamic buffer model; EVPN VxLAN
multihoming, HLD revision 0.2. Marks and thresholds: roce.yaml beside this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rackwright import canonical
from rackwright.plan.fabric.links import LEAF
from rackwright.render.switch.model import FIRST_VLAN, FIRST_VNI
from rackwright.render.switch.roce import figures

if TYPE_CHECKING:
    from rackwright.render.switch.model import Port, Segment, Switch

Table: TypeAlias = "dict[str, dict[str, canonical.Json]]"

QOS = "ROCE"
"""Name of all maps and profiles."""
_CLASSES = range(8)
_DSCPS = range(64)


def name(switch: Switch, port: Port) -> str:
    """``Ethernet96`` is the port whose first lane is the 97th of the switch."""
    return f"Ethernet{(port.cage - 1) * switch.lanes + port.part * switch.lanes // port.parts}"


def write(switch: Switch) -> str:
    """The file."""
    parts = (_host, _ports, _classes, _queues, _watchdog, _bgp, _overlay, _bonds)
    return canonical.dumps({table: rows for part in parts for table, rows in part(switch).items()})


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
    mtu: dict[str, canonical.Json] = {} if port.segment else {"mtu": str(switch.settings.mtu)}
    return {
        **mtu,  # a bond's member has that of the bond, and is refused where it says so itself
        "admin_status": "up",
        "description": f"{port.neighbour} {port.neighbour_port}",
        "fec": "rs",
        "pfc_asym": "off",
        "speed": f"{port.rate_gbps * 1000:.0f}",
    }


def _classes(switch: Switch) -> dict[str, Table]:
    """From marks to traffic classes, and from these to queues and buffers."""
    known, settings = figures(), switch.settings
    same: dict[str, canonical.Json] = {str(one): str(one) for one in _CLASSES}
    marks = {settings.dscp: known.lossless, settings.cnp_dscp: known.notifications}
    lossless = str(known.lossless)
    return {
        "DSCP_TO_TC_MAP": {QOS: {str(dscp): str(marks.get(dscp, 0)) for dscp in _DSCPS}},
        "TC_TO_QUEUE_MAP": {QOS: same},
        "TC_TO_PRIORITY_GROUP_MAP": {QOS: {**same, str(known.notifications): "0"}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {QOS: same},
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {QOS: {lossless: lossless}},
        "PORT_QOS_MAP": {
            name(switch, port): {**_maps(), "pfc_enable": lossless, "pfcwd_sw_enable": lossless}
            for port in switch.ports
        },
    }


def _maps() -> dict[str, canonical.Json]:
    maps = ("dscp_to_tc_map", "tc_to_queue_map", "tc_to_pg_map", "pfc_to_queue_map", "pfc_to_pg_map")
    return dict.fromkeys(maps, QOS)


def _queues(switch: Switch) -> dict[str, Table]:
    known = figures()
    schedulers = {0: "best-effort", known.lossless: "lossless", known.notifications: "notifications"}
    names = [name(switch, port) for port in switch.ports]
    return {
        "WRED_PROFILE": {
            QOS: {
                "ecn": "ecn_green",
                "wred_green_enable": "true",
                "green_min_threshold": str(known.ecn_min_bytes),
                "green_max_threshold": str(known.ecn_max_bytes),
                "green_drop_probability": str(known.ecn_percent),
            }
        },
        "SCHEDULER": {
            "best-effort": {"type": "DWRR", "weight": str(known.best_effort_weight)},
            "lossless": {"type": "DWRR", "weight": str(known.lossless_weight)},
            "notifications": {"type": "STRICT"},
        },
        "QUEUE": {
            f"{one}|{queue}": {
                "scheduler": scheduler,
                **({"wred_profile": QOS} if queue == known.lossless else {}),
            }
            for one in names
            for queue, scheduler in schedulers.items()
        },
        "BUFFER_PG": {f"{one}|{known.lossless}": {"profile": "NULL"} for one in names},
    }


def _watchdog(switch: Switch) -> dict[str, Table]:
    """A port that is paused for ever takes no neighbour with it."""
    known, after = figures(), figures().watch_ms(len(switch.ports))
    times: dict[str, canonical.Json] = {"detection_time": str(after), "restoration_time": str(after)}
    return {
        "PFC_WD": {
            "GLOBAL": {"POLL_INTERVAL": str(min(after, known.watchdog_poll_max_ms))},
            **{name(switch, port): {"action": "drop", **times} for port in switch.ports},
        }
    }


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
        "BGP_NEIGHBOR": {peer: {"peer_type": "external", "admin_status": "up"} for peer in peers},
        "BGP_NEIGHBOR_AF": {
            f"{peer}|{family}": {"admin_status": "up", **maps}
            for peer in peers
            for family, maps in families.items()
        },
        "ROUTE_MAP_SET": {"ALL": {}},
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
            f"{vlans[port.rail]}|{_member(switch, port)}": {"tagging_mode": "untagged"}
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


def _member(switch: Switch, port: Port) -> str:
    """What of a NIC's port is in its network: the port, or the bond that it is in."""
    return bond(port.segment) if port.segment else name(switch, port)


def bond(segment: Segment) -> str:
    """What it is called on both leaves."""
    return f"PortChannel{segment.number}"


def _bonds(switch: Switch) -> dict[str, Table]:
    """A bond of one link for each NIC: its other link is the same bond of the leaf beside this one."""
    if not switch.bonded:
        return {}
    return {
        "PORTCHANNEL": {
            bond(segment): {
                "admin_status": "up",
                "mtu": str(switch.settings.mtu),
                "system_mac": segment.mac,
            }
            for _, segment in switch.bonded
        },
        "PORTCHANNEL_MEMBER": {
            f"{bond(segment)}|{name(switch, port)}": {} for port, segment in switch.bonded
        },
        "EVPN_ETHERNET_SEGMENT": {
            bond(segment): {
                "esi": "AUTO",
                "type": "TYPE_3_MAC_BASED",
                "df_pref": str(segment.preference),
            }
            for _, segment in switch.bonded
        },
        "EVPN_MH_INTERFACE": {name(switch, port): {"mh_uplink": "true"} for port in switch.links},
    }
