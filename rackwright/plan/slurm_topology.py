"""How jobs are kept together: scale-up domains and scalable units in, the topology of a Slurm out.

A node of a rail-optimised fabric hangs on several leaves, so leaves say nothing of how near two nodes are;
what does is the domain in which accelerators reach one another past the network, and the scalable unit.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rackwright.findings import Finding, SpecPath
from rackwright.plan import faults
from rackwright.plan.stacks import HOSTS_PER_SET
from rackwright.spec.fabrics import Efa, FatTree
from rackwright.spec.schedulers import BlockTopology

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rackwright.catalogue.model import Platform
    from rackwright.plan.model import PoolPlan
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.schedulers import BlockTopology as Blocks
    from rackwright.spec.schedulers import TreeTopology

SHORT_BLOCKS_FROM = (25, 5)
"""Release from which a block may have fewer nodes than the base size."""
MOST_DOUBLINGS = 15
"""Of the base size, as often as Slurm has levels (src/plugins/topology/block/block_record.c)."""
_FATAL = "topology.conf(5), block; slurmctld 24.11 ends with it"


def unit_size(spec: ClusterSpec, platform: Platform, pool: PoolPlan) -> int:
    """Nodes of a scale-up domain where it has several, else of a scalable unit, else of a host set."""
    if platform.scale_up is not None and platform.scale_up.nodes > 1:
        return platform.scale_up.nodes
    first = next(iter(pool.slots.values()))
    for fabric_name, _ in Counter(port.fabric for port in first.ports).most_common():
        fabric = spec.fabrics[fabric_name]
        if not isinstance(fabric, Efa) and isinstance(fabric.topology, FatTree):
            return fabric.topology.unit_nodes
    return HOSTS_PER_SET


def roots(spec: ClusterSpec, pools: Mapping[str, PoolPlan]) -> dict[str, str]:
    """Pool → the switch above its units: one for each site, or for each fabric where a site has several.

    Two fabrics of a hall have no cable in common, so a switch above both would tell of links that do not
    exist (nebius/soperator#2585).

    Args:
        spec: the cluster.
        pools: of one scheduler.
    """
    fabrics = {name: _fabric(spec, pool) for name, pool in pools.items()}
    sites: dict[str, set[str]] = {}
    for name, pool in pools.items():
        sites.setdefault(pool.site, set()).update({fabrics[name]} - {""})
    return {
        name: f"spine-{fabrics[name] if fabrics[name] and len(sites[pool.site]) > 1 else pool.site}"
        for name, pool in pools.items()
    }


def _fabric(spec: ClusterSpec, pool: PoolPlan) -> str:
    """The cabled fabric that most NICs of its nodes are on; empty where they are on none."""
    first = next(iter(pool.slots.values()))
    ports = Counter(port.fabric for port in first.ports if not isinstance(spec.fabrics[port.fabric], Efa))
    return next((name for name, _ in ports.most_common(1)), "")


def units(name: str, size: int, slots: Iterable[tuple[int, str]]) -> dict[str, tuple[str, ...]]:
    """Slots of a pool by unit; a slot's number alone says which one is its own.

    Args:
        name: of the pool.
        size: nodes of a unit.
        slots: number and name of each.
    """
    found: dict[str, list[str]] = {}
    for number, slot in slots:
        found.setdefault(f"{name}-su{(number - 1) // size + 1:02d}", []).append(slot)
    return {unit: tuple(members) for unit, members in found.items()}


def block_sizes(
    topology: TreeTopology | Blocks, base: int, found: Mapping[str, Sequence[str]]
) -> tuple[int, ...]:
    """BlockSizes: what the spec says, else the base size and its doublings up to all; none of a tree."""
    if not isinstance(topology, BlockTopology):
        return ()
    if topology.sizes is not None:
        return tuple(topology.sizes)
    levels = min(max(len(found), 1).bit_length(), MOST_DOUBLINGS + 1)
    return tuple(base << level for level in range(levels))


def misfits(
    scheduler: str, sizes: Sequence[int], found: Mapping[str, Sequence[str]], release: str
) -> Iterator[Finding]:
    """What would keep slurmctld from starting with these blocks.

    Args:
        scheduler: its name.
        sizes: BlockSizes; none is a tree.
        found: unit → its slots.
        release: of Slurm: ``24.11``.
    """
    at = SpecPath() / "schedulers" / scheduler / "topology"
    wrong = next((size for size in sizes if not doubling(sizes[0], size)), None)
    if wrong is not None or list(sizes) != sorted(set(sizes)):
        yield Finding(
            code=faults.BLOCK_SIZES,
            message=f"the block sizes of {scheduler} are not the first of them, doubled",
            path=at / "sizes",
            got=", ".join(map(str, sizes)),
            expected=f"rising, each {sizes[0]} times a power of two, at most 2 to the {MOST_DOUBLINGS}th",
            hint="leave `sizes` out for the size of a scale-up domain, or of a unit, and its doublings",
            source=_FATAL,
        )
    if sizes and _number(release) < SHORT_BLOCKS_FROM:
        for unit, slots in found.items():
            if len(slots) < sizes[0]:
                yield _short(at, unit, len(slots), sizes[0], release)


def _short(at: SpecPath, unit: str, nodes: int, base: int, release: str) -> Finding:
    return Finding(
        code=faults.BLOCK_SHORT,
        message=f"block {unit} has fewer nodes than the smallest block size",
        path=at,
        got=f"{nodes} nodes, Slurm {release}",
        expected=f"at least {base}",
        hint=f"fill the unit, say `sizes` that begin with {nodes}, or take Slurm 25.05 or newer",
        source=_FATAL,
    )


def doubling(base: int, size: int) -> bool:
    """Whether a size is its base times a power of two that Slurm has a level for."""
    times, rest = divmod(size, base)
    return not rest and times.bit_count() == 1 and times.bit_length() <= MOST_DOUBLINGS + 1


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())
