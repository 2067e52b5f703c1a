"""Rails of a plan's Ethernet fabrics as bridges of a lab, and what they have in common with all bridges."""

from __future__ import annotations

import hashlib
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from rackwright.lab.model import Segment
from rackwright.spec.fabrics import Ethernet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.plan.model import Plan, PoolPlan

_MBIT = {"m": 1, "g": 1000}


def rail_segments(plan: Plan, pools: Mapping[str, PoolPlan]) -> dict[tuple[str, int], Segment]:
    """One bridge for each rail that pools are on, without an address of a router: rails lead nowhere else."""
    found: dict[tuple[str, int], Segment] = {}
    ports = (port for pool in pools.values() for slot in pool.slots.values() for port in slot.ports)
    for port in ports:
        fabric = plan.fabrics[port.fabric]
        if isinstance(fabric, Ethernet) and (port.fabric, port.rail) not in found:
            found[port.fabric, port.rail] = Segment(
                name=f"rail{len(found)}",
                what=f"{port.fabric} rail {port.rail}",
                mac=mac(plan.cluster.name, port.fabric, str(port.rail)),
                mtu=fabric.mtu,
                cidr=str(IPv4Network(port.address, strict=False)) if port.address else "",
            )
    return found


def rate_mbit(fabric: Ethernet) -> int:
    """Line rate of its rails."""
    return int(fabric.speed[:-1]) * _MBIT[fabric.speed[-1]]


def mac(*words: str) -> str:
    """A locally administered unicast MAC, always the same for the same words."""
    digest = hashlib.sha256("\0".join(words).encode()).digest()
    return ":".join(f"{byte:02x}" for byte in (0x02, *digest[:5]))
