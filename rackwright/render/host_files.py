"""What the roles of any host lay out, without what schedulers and subnets have: path and text of each file.

A controller renders these for the instances that it configures itself: what is imported here, it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.render import boot, nvmeof, tuning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.plan.model import Plan

TUNING = "tuning"
"""Folder of what sets the kernels of each pool's hosts: ``tuning/h100/sysctl.conf``."""


def files(plan: Plan, launched: Mapping[str, str] | None = None) -> Iterator[tuple[str, str]]:
    """All of them.

    Args:
        plan: the plan.
        launched: slot → address, of those whose address is not planned.
    """
    yield boot.HOSTS, boot.hosts_file(plan.cluster.domain, boot.all_slots(plan), launched)
    for name, pool in plan.pools.items():
        for path, content in tuning.files(pool, plan.rdma).items():
            yield f"{TUNING}/{name}/{path}", content
    yield from nvmeof.files(plan)
