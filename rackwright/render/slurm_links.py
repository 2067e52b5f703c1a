"""A plan in, what a controller must know of links out: which nodes of its Slurm are reached over which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.plan.model import Plan, SlurmPlan

SCHEMA = "rackwright/slurm-links/1"
NAME = "links.json"


def links_file(plan: Plan, slurm: SlurmPlan) -> str:
    """Links of the first controller's site with the nodes beyond; empty where none leads to one.

    Args:
        plan: of the cluster.
        slurm: one of its schedulers.
    """
    links = list(_links(plan, slurm))
    return canonical.dumps({"schema": SCHEMA, "links": links}) if links else ""


def _links(plan: Plan, slurm: SlurmPlan) -> Iterator[dict[str, canonical.Json]]:
    home = next(pool.site for pool in plan.pools.values() if slurm.controllers[0] in pool.slots)
    for name, link in sorted(plan.links.items()):
        if home in link.between:
            there = next(site for site in link.between if site != home)
            nodes = [
                slot
                for pool in slurm.pools
                if plan.pools[pool].site == there
                for slot in plan.pools[pool].slots
            ]
            if nodes:
                yield {"link": name, "site": there, "nodes": list(nodes)}
