"""Networks that were found and taken, in the state folder: real GUIDs for the subnet managers' lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical, paths
from rackwright.render.fabric import ibnetdiscover

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.plan.model import Plan
    from rackwright.render.fabric.network import Network


def file(cluster: str, subnet: str) -> Path:
    """Where the dump of a subnet is kept."""
    return paths.subnets(cluster) / f"{subnet}.ibnetdiscover"


def keep(cluster: str, subnet: str, text: str) -> Path:
    """Keep a dump in the place of an older one."""
    canonical.write_atomic(file(cluster, subnet), text)
    return file(cluster, subnet)


def networks(plan: Plan) -> dict[str, Network]:
    """Subnet → what was found in it, of those of which a dump is kept.

    Raises:
        FormUnreadable: a dump that somebody has edited.
    """
    dumps = {name: file(plan.cluster.name, name) for name in plan.subnets}
    return {
        name: ibnetdiscover.read(path.read_text(encoding="utf-8"), str(path))
        for name, path in dumps.items()
        if path.exists()
    }
