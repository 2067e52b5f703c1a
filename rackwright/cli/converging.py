"""What `converge` and `drift` have in common: the hosts that are asked for, and what roles read here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical, paths
from rackwright.burst import prepare
from rackwright.converge.limit import chosen
from rackwright.converge.nvmeof import write_keys
from rackwright.converge.prepare import apart, munge_key
from rackwright.converge.run import Asked
from rackwright.converge.shards import phases
from rackwright.inventory import files
from rackwright.render.files import write_all

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.cli.cluster import Cluster
    from rackwright.cli.output import Console
    from rackwright.inventory.model import Inventory
    from rackwright.provision.aws.nodeset.model import Ground

TAGS = "configure,validate"
"""Packages come with the image."""


def asked(cluster: Cluster, inventory: Inventory, limit: str) -> Asked:
    """The hosts of `--limit`, in shards."""
    hosts = chosen(inventory, limit)
    return Asked(
        cluster=inventory.cluster,
        plan_sha256=canonical.sha256(canonical.dumps(cluster.plan)),
        phases=phases(inventory, hosts & inventory.hosts.keys()),
        apart=apart(inventory, hosts),
    )


def write(cluster: Cluster, inventory: Inventory, console: Console) -> None:
    """Everything that roles read on the controller."""
    name = cluster.plan.cluster.name
    files.write(inventory, paths.inventory(name), paths.login_key(name))
    launched = {slot: host.address for slot, host in inventory.hosts.items()}
    write_all(cluster.plan, paths.rendered(name), launched)
    munge_key(paths.secrets(name))
    spec_folder = cluster.loaded.path.parent.resolve()
    write_keys(cluster.plan.nvmeof, paths.secrets(name), spec_folder, paths.state(name))
    if prepare.wanted(cluster.plan):
        prepare.write(cluster.plan, inventory, _grounds(cluster), console.message)


def _grounds(cluster: Cluster) -> Mapping[str, Ground]:
    """Pool → its launch template and surroundings, as the engine has them."""
    from rackwright.provision.places import Folders  # noqa: PLC0415 (the engine's SDK takes a second to load)
    from rackwright.provision.standing import node_sets  # noqa: PLC0415 (as above)

    state = paths.state(cluster.plan.cluster.name)
    return node_sets(cluster.plan, Folders(spec=cluster.loaded.path.parent.resolve(), state=state))


def variables(asked: Asked) -> dict[str, str]:
    """Extra variables of a run: folders and hashes."""
    return {
        "rackwright_state": str(paths.state(asked.cluster)),
        "rackwright_rendered": str(paths.rendered(asked.cluster)),
        "rackwright_secrets": str(paths.secrets(asked.cluster)),
        "rackwright_plan_sha256": asked.plan_sha256,
    }
