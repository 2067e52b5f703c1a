"""`NodeSet` as the engine's side needs it: thin over `reconcile.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from rackwright.provision import busy
from rackwright.provision.aws.identity import require_account
from rackwright.provision.aws.nodeset import reconcile
from rackwright.provision.aws.nodeset.changes import changes, drift
from rackwright.provision.aws.nodeset.ec2 import Ec2
from rackwright.provision.aws.nodeset.model import NODE_SET, FoundNodes, Ground, WantedNodes
from rackwright.provision.aws.outputs import ComputeOutputs
from rackwright.provision.aws.seed import UserData
from rackwright.provision.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rackwright.errors import Failure
    from rackwright.provision.kind import Process
    from rackwright.provision.notes import Change


class NodeKind(Kind[WantedNodes, FoundNodes]):
    """Instances of EC2; a set that is destroyed is terminated."""

    token, slots, noun = NODE_SET, "nodes", "node"
    wanted, found = WantedNodes, FoundNodes

    @override
    def changes(self, found: FoundNodes | None, wanted: WantedNodes | None) -> list[Change]:
        return changes(found.nodes if found else {}, wanted.nodes if wanted else {})

    @override
    def ground(self, found: FoundNodes, wanted: WantedNodes) -> list[str]:
        return [name for name in Ground.model_fields if getattr(found, name) != getattr(wanted, name)]

    @override
    def drift(self, before: FoundNodes, after: FoundNodes) -> list[Change]:
        return drift(before.nodes, after.nodes)

    @override
    def failures(self, found: FoundNodes) -> Iterable[Failure]:
        return (node.failure.of(slot) for slot, node in sorted(found.nodes.items()) if node.failure)

    @override
    def standing(self, found: FoundNodes) -> tuple[int, int]:
        static = [node for node in found.nodes.values() if not node.burst]
        return sum(node.state == "running" for node in static), len(static)

    @override
    def foreseen(self, wanted: WantedNodes) -> FoundNodes:
        return reconcile.foreseen(wanted)

    @override
    def drifted(self, wanted: WantedNodes, found: FoundNodes) -> WantedNodes:
        return reconcile.drifted(wanted, found)

    @override
    def bring_up(self, process: Process, found: FoundNodes | None, wanted: WantedNodes) -> FoundNodes:
        jobs = busy.read(process.folders.state)
        boots = UserData(process.folders, wanted.pool)
        means = reconcile.Means(_ec2(wanted), boots, jobs, process.stopped)
        return reconcile.brought_up(found, wanted, means)

    @override
    def read(self, process: Process, found: FoundNodes, wanted: WantedNodes) -> FoundNodes:
        del process, wanted
        return reconcile.read(found, _ec2(found))

    @override
    def remove(self, process: Process, found: FoundNodes) -> None:
        reconcile.removed(found, _ec2(found), busy.read(process.folders.state))

    @override
    def outputs(self, site: str, found: Sequence[FoundNodes]) -> ComputeOutputs:
        return ComputeOutputs(site=site, node_sets={one.pool: one for one in found})


def _ec2(ground: Ground) -> Ec2:
    """The region's EC2, once the account is known to be the plan's: a plain `pulumi` comes this way too."""
    require_account(ground.account, ground.region, f"sites.{ground.site}.account")
    return Ec2(ground.region)
