"""What NVMe targets serve, hosts connect to, and RDMA goes by: one file a host, as the roles read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.plan.model import Plan

FOLDER = "nvmeof"


def files(plan: Plan) -> Iterator[tuple[str, str]]:
    """Path below the rendered files, and text; no key is in one."""
    for slot, nics in plan.rdma.items():
        yield f"rdma/{slot}.json", canonical.dumps(nics)
    for pool, scratch in plan.local_nvme.items():
        yield f"local_nvme/{pool}.json", canonical.dumps(scratch)
    if plan.nvmeof is None:
        return
    for slot, target in plan.nvmeof.targets.items():
        yield f"{FOLDER}/targets/{slot}.json", canonical.dumps(target)
    for slot, host in plan.nvmeof.hosts.items():
        yield f"{FOLDER}/hosts/{slot}.json", canonical.dumps(host)
