"""Fabrics with RDMA in, the interfaces of each of their slots out."""

from __future__ import annotations

from ipaddress import IPv4Interface
from typing import TYPE_CHECKING

from rackwright.plan.rdma_model import RdmaHost, RdmaNic
from rackwright.spec.fabrics import Ethernet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.plan.model import PoolPlan, Slot
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.pools import Pool

FIRST_TABLE = 1000
"""Routing tables 1000 and on are ours; those below 256 are the system's (rt_tables)."""


def rdma(spec: ClusterSpec, pools: Mapping[str, PoolPlan]) -> dict[str, RdmaHost]:
    """Slot → its RDMA interfaces, for slots that have any with a name and an address."""
    found: dict[str, RdmaHost] = {}
    for name, pool in pools.items():
        for slot in pool.slots.values():
            nics = tuple(_nics(spec, spec.pools[name], slot))
            if nics:
                found[slot.name] = RdmaHost(nics=nics)
    return dict(sorted(found.items()))


def _nics(spec: ClusterSpec, pool: Pool, slot: Slot) -> Iterator[RdmaNic]:
    for number, port in enumerate(slot.ports):
        fabric = spec.fabrics.get(port.fabric)
        if not isinstance(fabric, Ethernet) or fabric.rdma is None:
            continue
        if port.interface is None or port.address is None:
            continue
        pci = pool.fabrics[port.fabric].pci
        yield RdmaNic(
            fabric=port.fabric,
            rail=port.rail,
            interface=port.interface,
            pci=pci[port.rail] if port.rail < len(pci) else None,
            address=port.address,
            network=str(IPv4Interface(port.address).network),
            mtu=fabric.mtu,
            table=FIRST_TABLE + number,
            kind=fabric.rdma.kind,
            priority=fabric.rdma.priority,
            dscp=fabric.rdma.dscp,
            ecn=fabric.rdma.ecn,
        )
