"""`rackwright fabric export`: the cables of a spec in the form that somebody else reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright import canonical
from rackwright.cli import frame
from rackwright.cli.cluster import no_collections, open_cluster
from rackwright.cli.fabric_group import command, fabrics_of, one_fabric, one_infiniband
from rackwright.errors import GOOD, UsageError
from rackwright.plan.fabric.cables import cables
from rackwright.render.fabric import cutsheet, ibnetdiscover, netbox
from rackwright.render.fabric.network import network
from rackwright.render.slurm import files as slurm_files
from rackwright.render.switch import nvue, sonic
from rackwright.render.switch.model import switches
from rackwright.render.topology_yaml import topology_yaml
from rackwright.spec.fabrics import Ethernet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rackwright.cli.cluster import Cluster
    from rackwright.cli.output import Console
    from rackwright.plan.fabric.cables import Cable
    from rackwright.plan.model import SlurmPlan
    from rackwright.render.switch.model import Switch

SCHEMA = "rackwright/fabric-export/1"


def _cables(cluster: Cluster, fabric: str | None) -> list[Cable]:
    return [cable for name in fabrics_of(cluster.plan, fabric) for cable in cables(cluster.plan, name)]


def _cutsheet(cluster: Cluster, fabric: str | None) -> dict[str, str]:
    return {"cutsheet.csv": cutsheet.write(_cables(cluster, fabric))}


def _ibnetdiscover(cluster: Cluster, fabric: str | None) -> dict[str, str]:
    name = one_infiniband(cluster.plan, fabric)
    return {"ibnetdiscover.txt": ibnetdiscover.write(network(cluster.plan, name))}


def _netbox(cluster: Cluster, fabric: str | None) -> dict[str, str]:
    built = [_built(cluster, name) for name in fabrics_of(cluster.plan, fabric)]
    titles = {
        slot: cluster.catalogue.platforms[pool.platform].title
        for pool in cluster.plan.pools.values()
        for slot in pool.slots
    }
    return {
        "cables.csv": netbox.cables(cable for one in built for cable in one.cables),
        "devices.csv": netbox.devices(built, titles),
        "interfaces.csv": "".join(_interfaces(cluster, fabric)),
    }


def _interfaces(cluster: Cluster, fabric: str | None) -> Iterator[str]:
    """One table over fabrics of different kinds: the header once."""
    for number, name in enumerate(fabrics_of(cluster.plan, fabric)):
        one = cluster.plan.fabrics[name]
        kind = f"infiniband-{one.speed}" if one.kind == "infiniband" else "other"
        header, _, rows = netbox.interfaces(cables(cluster.plan, name), kind).partition("\n")
        yield rows if number else f"{header}\n{rows}"


def _built(cluster: Cluster, fabric: str) -> netbox.Built:
    cabling = cluster.plan.cabling[fabric]
    entry = cluster.catalogue.switches[cabling.switch] if cabling.switch else None
    model = (entry.maker, entry.title) if entry else ("", "")
    return netbox.Built(cabling.site, model, list(cables(cluster.plan, fabric)))


def _slurm_conf(cluster: Cluster, _: str | None) -> dict[str, str]:
    return {"topology.conf": slurm_files(_slurm(cluster))["topology.conf"]}


def _slurm_yaml(cluster: Cluster, _: str | None) -> dict[str, str]:
    return {"topology.yaml": topology_yaml(_slurm(cluster))}


def _switch_config(cluster: Cluster, fabric: str | None) -> dict[str, str]:
    name = one_fabric(cluster.plan, fabric)
    one = cluster.plan.fabrics[name]
    found = switches(cluster.plan, name)
    system = one.switches.os if isinstance(one, Ethernet) and one.switches else ""
    ending, write = SYSTEMS[system]
    return {f"{switch.name}/{ending}": write(switch) for switch in found}


SYSTEMS: Mapping[str, tuple[str, Callable[[Switch], str]]] = {
    "cumulus": ("startup.yaml", nvue.write),
    "sonic": ("config_db.json", sonic.write),
}
"""System of switches → the name of its file, and what writes it."""


def _slurm(cluster: Cluster) -> SlurmPlan:
    found = cluster.plan.slurm
    if len(found) != 1:
        raise UsageError(
            "a topology is written for one scheduler",
            where=str(cluster.loaded.path),
            got=", ".join(found) or "no scheduler of kind slurm",
            expected="one",
        )
    return next(iter(found.values()))


FORMS: Mapping[str, Callable[[Cluster, str | None], dict[str, str]]] = {
    "cutsheet": _cutsheet,
    "ibnetdiscover": _ibnetdiscover,
    "netbox": _netbox,
    "slurm-conf": _slurm_conf,
    "slurm-yaml": _slurm_yaml,
    "switch-config": _switch_config,
}
"""Form → its files; the first is the one that is printed."""


@frame.command(
    "export",
    group=command,
    example="rackwright fabric export clusters/onprem-dgx-h100.yaml --as cutsheet --out cabling\n"
    "rackwright fabric export clusters/onprem-dgx-h100.yaml --as ibnetdiscover --fabric compute",
)
@click.argument("spec", type=frame.SPEC)
@click.option("--as", "wanted", type=click.Choice(list(FORMS)), required=True, help="The form.")
@click.option("--fabric", help="Of one fabric only; ibnetdiscover and switch-config have but one.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write all files of the form into this folder; without it the first is printed.",
)
def export_command(console: Console, spec: Path, *, wanted: str, fabric: str | None, out: Path | None) -> int:
    """Write the cables of SPEC, or the topology that follows from its units, in one form.

    The lock is read and never written: a spec that was not planned as it stands is refused.
    """
    cluster = open_cluster(spec)
    cluster.refuse_stale()
    with no_collections():
        files = FORMS[wanted](cluster, fabric)
    for name, text in files.items():
        if out is not None:
            canonical.write_atomic(out / name, text)
    said = {name: text if out is None else str(out / name) for name, text in files.items()}
    first = next(iter(files.values())).removesuffix("\n")
    console.result(
        {"schema": SCHEMA, "as": wanted, "files": said}, first if out is None else "\n".join(said.values())
    )
    return GOOD
