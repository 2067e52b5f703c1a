"""What NVMe targets serve and their hosts connect to, one file for each, as the roles read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.plan.nvmeof_model import NvmeofPlan

FOLDER = "nvmeof"


def files(plan: NvmeofPlan | None) -> Iterator[tuple[str, str]]:
    """Path below the rendered files, and text; no key is in one."""
    if plan is None:
        return
    for slot, target in plan.targets.items():
        yield f"{FOLDER}/targets/{slot}.json", canonical.dumps(target)
    for slot, host in plan.hosts.items():
        yield f"{FOLDER}/hosts/{slot}.json", canonical.dumps(host)
