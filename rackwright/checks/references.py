"""Rules on names: what is used is defined."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rackwright.checks.registry import Breach, rule
from rackwright.findings import SpecPath, did_you_mean
from rackwright.spec.fabrics import Custom, Efa, FatTree
from rackwright.spec.storage import FsxLustre, LocalNvme, Lustre, NvmeOverFabrics

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from rackwright.checks.registry import SpecSubject
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.storage import Storage


class _Use(NamedTuple):
    """A name at a place of the spec, and what may stand there."""

    path: SpecPath
    what: str
    name: str
    known: Collection[str]


@rule(
    "REF002", remedy="define it, or use another name", source="parts of a spec find one another by name alone"
)
def used_names_are_defined(subject: SpecSubject) -> Iterator[Breach]:
    """Every name that is used is defined."""
    for use in _uses(subject):
        if use.name not in use.known:
            yield Breach(
                use.path,
                f"there is no {use.what} {use.name}",
                got=use.name,
                expected=f"one of {', '.join(sorted(use.known))}" if use.known else f"a {use.what}",
                hint=did_you_mean(use.name, use.known),
            )


def _uses(subject: SpecSubject) -> Iterator[_Use]:
    """All uses but a pool's site, platform and fabrics, which planning looks up itself."""
    spec, root = subject.spec, SpecPath()
    for name, pool in spec.pools.items():
        yield _Use(root / "pools" / name / "image", "image", pool.image, spec.images)
    for name, link in spec.links.items():
        for end, site in enumerate(link.between):
            yield _Use(root / "links" / name / "between" / end, "site", site, spec.sites)
    for name, fabric in spec.fabrics.items():
        if isinstance(fabric, Efa) or not isinstance(fabric.topology, FatTree | Custom):
            continue
        if fabric.topology.switch is not None:
            at = root / "fabrics" / name / "topology" / "switch"
            yield _Use(at, "switch", fabric.topology.switch, subject.catalogue.switches)
    for name, storage in spec.storage.items():
        yield from _of_storage(spec, root / "storage" / name, storage)
    yield from _of_schedulers(spec, root / "schedulers")


def _of_storage(spec: ClusterSpec, at: SpecPath, storage: Storage) -> Iterator[_Use]:
    if not isinstance(storage, LocalNvme):
        yield _Use(at / "site", "site", storage.site, spec.sites)
    if isinstance(storage, Lustre) and storage.fabric is not None:
        yield _Use(at / "fabric", "fabric", storage.fabric, spec.fabrics)
    for key, pools in _pools_of(storage).items():
        for index, pool in enumerate(pools):
            yield _Use(at / key / index, "pool", pool, spec.pools)


def _pools_of(storage: Storage) -> dict[str, list[str]]:
    """Key → pools that a storage names there."""
    match storage:
        case Lustre():
            return {"mds": storage.mds, "oss": storage.oss}
        case NvmeOverFabrics():
            return {"targets": storage.targets, "hosts": storage.hosts}
        case LocalNvme():
            return {"pools": storage.pools}
        case FsxLustre():
            return {}


def _of_schedulers(spec: ClusterSpec, root: SpecPath) -> Iterator[_Use]:
    for name, scheduler in spec.schedulers.items():
        for index, site in enumerate(scheduler.sites):
            yield _Use(root / name / "sites" / index, "site", site, spec.sites)
        for partition, part in scheduler.partitions.items():
            at = root / name / "partitions" / partition / "pools"
            for index, pool in enumerate(part.pools):
                yield _Use(at / index, "pool", pool, spec.pools)
        yield _Use(root / name / "default_qos", "QOS", scheduler.default_qos, scheduler.qos)
        for qos_name, qos in scheduler.qos.items():
            at = root / name / "qos" / qos_name / "preempts"
            for index, victim in enumerate(qos.preempts):
                yield _Use(at / index, "QOS", victim, scheduler.qos)
