"""Slots from seats: names, addresses, ports, position and asset of every slot of a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.findings import Finding, SpecPath
from rackwright.plan import faults
from rackwright.plan.model import Position, RailPort, Slot
from rackwright.spec.sites import BMC
from rackwright.spec.slots import slot_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.catalogue.tuning import Settings
    from rackwright.plan.addresses import AddressRange
    from rackwright.plan.hardware import Hardware
    from rackwright.plan.lock import Seat
    from rackwright.plan.model import PoolPlan
    from rackwright.spec.assets import Asset, AssetRow
    from rackwright.spec.pools import Pool


@dataclass(frozen=True, slots=True)
class PoolGround:
    """What all slots of one pool have in common."""

    name: str
    pool: Pool
    hardware: Hardware
    tuning: Settings
    networks: Mapping[str, AddressRange]
    """Of the site; empty in a VPC that is somebody else's."""
    rails: Mapping[str, tuple[AddressRange, ...]]
    """Fabric → network of each rail, for fabrics with addresses."""


def slots(ground: PoolGround, seats: Mapping[int, Seat], assets: Mapping[str, Asset]) -> dict[str, Slot]:
    """Name → slot, rising by number."""
    made: dict[str, Slot] = {}
    for number, seat in seats.items():
        name = slot_name(ground.name, number)
        made[name] = Slot(
            name=name,
            number=number,
            index=seat.index,
            addresses={network: one.address(seat.index) for network, one in ground.networks.items()},
            ports=_ports(ground, seat.index),
            position=None
            if seat.rack is None or seat.unit is None
            else Position(rack=seat.rack, unit=seat.unit),
            asset=assets.get(name),
            burst=number > ground.pool.nodes.static,
        )
    return made


def _ports(ground: PoolGround, index: int) -> tuple[RailPort, ...]:
    return tuple(
        RailPort(
            fabric=cabled.fabric,
            rail=rail,
            interface=interface,
            address=networks[rail].address(index) if networks else None,
        )
        for cabled in ground.hardware.wiring
        for networks in (ground.rails.get(cabled.fabric, ()),)
        for rail, interface in enumerate(cabled.interfaces)
    )


def strange_bmc_addresses(rows: Mapping[str, AssetRow], pools: Mapping[str, PoolPlan]) -> Iterator[Finding]:
    """Asset rows whose BMC is not where the plan looks for it."""
    for name, pool in pools.items():
        for slot in pool.slots.values():
            row, planned = rows.get(slot.name), slot.addresses.get(BMC)
            if row and row.bmc_address and planned and row.bmc_address != planned.partition("/")[0]:
                yield Finding(
                    code=faults.BMC_ADDRESS,
                    message=f"the BMC of {slot.name} was given another address than the plan's",
                    path=SpecPath() / "pools" / name / "assets",
                    got=row.bmc_address,
                    expected=f"{planned.partition('/')[0]}, the planned address of {slot.name}",
                    hint="give the BMC its planned address, or leave the column empty",
                    place=row.place,
                )
