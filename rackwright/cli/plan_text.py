"""How a plan is shown: one JSON document, or a page for a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import paths
from rackwright.plan.hostlist import hostlist

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwright.canonical import Json
    from rackwright.cli.cluster import Cluster
    from rackwright.plan.model import Plan, PoolPlan

SCHEMA = "rackwright/plan-summary/1"


def document(cluster: Cluster) -> Mapping[str, Json]:
    """The summary; what no part plans yet is null, and named in ``not_planned``."""
    plan = cluster.plan
    return {
        "schema": SCHEMA,
        "cluster": plan.cluster.name,
        "totals": plan.totals.model_dump(mode="json"),
        "pools": {name: _pool(name, pool) for name, pool in plan.pools.items()},
        "fabrics": {name: _fabric(plan, name) for name in plan.fabrics},
        "storage": None if "storage" in plan.not_planned else {},
        "failure": None,
        "cost": None,
        "not_planned": list(plan.not_planned),
        "not_provisionable": list(plan.not_provisionable),
        "undelivered": dict(plan.undelivered),
        "plan": str(paths.plan_file(plan.cluster.name)),
        "lock": {"path": str(cluster.lock_path), "changed": cluster.lock_changed},
    }


def _pool(name: str, pool: PoolPlan) -> Json:
    burst = sum(slot.burst for slot in pool.slots.values())
    return {
        "site": pool.site,
        "platform": pool.platform,
        "image": pool.image,
        "roles": list(pool.roles),
        "slots": hostlist(name, (slot.number for slot in pool.slots.values())),
        "nodes": {"static": len(pool.slots) - burst, "burst": burst},
        "accelerators": len(pool.slots) * pool.accelerators_per_node,
        "power_kw": _power_kw(pool),
    }


def _power_kw(pool: PoolPlan) -> float | None:
    if pool.power_kw_per_node is None:
        return None
    return round(len(pool.slots) * pool.power_kw_per_node, 3)


def _fabric(plan: Plan, name: str) -> Json:
    """Rails, endpoints, switches and cables as planned; EFA has none of ours."""
    one = plan.cabling.get(name)
    if one is None:
        return {
            "kind": plan.fabrics[name].kind,
            **dict.fromkeys(("rails", "endpoints", "tiers", "switches", "cables")),
        }
    return {
        "kind": plan.fabrics[name].kind,
        "rails": max(one.nics.values(), default=0),
        "endpoints": one.endpoints,
        "tiers": {tier.role: tier.switches for tier in one.tiers},
        "switches": sum(tier.switches for tier in one.tiers),
        "cables": sum(some.count for some in one.cables),
    }


def text(cluster: Cluster) -> str:
    """Totals, pools, and what is not planned or cannot be built."""
    return "\n".join(_lines(cluster))


def _lines(cluster: Cluster) -> Iterator[str]:
    plan = cluster.plan
    yield f"{plan.cluster.name}: {_totals(plan)}"
    yield from _table([_row(name, pool) for name, pool in plan.pools.items()])
    yield f"not planned yet: {', '.join(plan.not_planned)}"
    for sentence in plan.not_provisionable:
        yield f"not built by `rackwright up`: {sentence}"
    if plan.undelivered:
        slots = ", ".join(f"{pool} {numbers}" for pool, numbers in plan.undelivered.items())
        yield f"not delivered yet: {slots}"
    done = "written" if cluster.lock_changed else "unchanged"
    yield f"lock {cluster.lock_path} {done}; plan {paths.plan_file(plan.cluster.name)}"


def _totals(plan: Plan) -> str:
    totals = plan.totals
    counts = [
        (totals.nodes, "nodes"),
        (totals.accelerators, "accelerators"),
        (totals.switches, "switches"),
        (totals.cables, "cables"),
        (totals.racks, "racks"),
        (totals.power_kw, "kW of IT load"),
        (totals.resources, "Pulumi resources"),
    ]
    return ", ".join(f"{what} unknown" if count is None else f"{count:,} {what}" for count, what in counts)


def _row(name: str, pool: PoolPlan) -> Sequence[str]:
    slots = hostlist(name, (slot.number for slot in pool.slots.values()))
    return (name, pool.site, pool.platform, slots, ", ".join(pool.roles))


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()
