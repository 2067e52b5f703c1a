"""`HostSet` as the engine's side needs it: thin over `hostset.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from rackwright.provision import busy
from rackwright.provision.kind import Kind
from rackwright.provision.onprem import hostset
from rackwright.provision.onprem.changes import changes, drift
from rackwright.provision.onprem.model import HOST_SET, FoundSet, WantedSet
from rackwright.provision.onprem.outputs import outputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rackwright.errors import Failure
    from rackwright.provision.kind import Process
    from rackwright.provision.notes import Change
    from rackwright.provision.onprem.outputs import OnpremOutputs


class HostKind(Kind[WantedSet, FoundSet]):
    """Hosts powered on over Redfish; a set that is destroyed is forgotten, and no host switched off."""

    token, slots, noun = HOST_SET, "hosts", "host"
    wanted, found = WantedSet, FoundSet

    @override
    def changes(self, found: FoundSet | None, wanted: WantedSet | None) -> list[Change]:
        return changes(found.hosts if found else {}, wanted.hosts if wanted else {})

    @override
    def ground(self, found: FoundSet, wanted: WantedSet) -> list[str]:
        return [name for name in ("site", "pool", "bmc") if getattr(found, name) != getattr(wanted, name)]

    @override
    def drift(self, before: FoundSet, after: FoundSet) -> list[Change]:
        return drift(before.hosts, after.hosts)

    @override
    def failures(self, found: FoundSet) -> Iterable[Failure]:
        return hostset.failures_of(found.hosts)

    @override
    def standing(self, found: FoundSet) -> tuple[int, int]:
        return sum(host.power == "on" for host in found.hosts.values()), len(found.hosts)

    @override
    def foreseen(self, wanted: WantedSet) -> FoundSet:
        return hostset.foreseen(wanted)

    @override
    def previewed(self, process: Process, found: FoundSet | None, wanted: WantedSet) -> FoundSet:
        if found is not None and wanted.hosts.keys() <= found.hosts.keys():
            return self.foreseen(wanted)
        reach = hostset.access(wanted.bmc, process.folders)
        return hostset.previewed(found, wanted, reach, process.reconciler)

    @override
    def drifted(self, wanted: WantedSet, found: FoundSet) -> WantedSet:
        return hostset.drifted(wanted, found)

    @override
    def bring_up(self, process: Process, found: FoundSet | None, wanted: WantedSet) -> FoundSet:
        reach = hostset.access(wanted.bmc, process.folders)
        jobs = busy.read(process.folders.state)
        return hostset.brought_up(found, wanted, reach, process.reconciler, jobs)

    @override
    def read(self, process: Process, found: FoundSet, wanted: WantedSet) -> FoundSet:
        reach = hostset.access(wanted.bmc, process.folders)
        return hostset.read(found, reach, process.reconciler)

    @override
    def remove(self, process: Process, found: FoundSet) -> None:
        """Nothing: the hosts run on."""

    @override
    def outputs(self, site: str, found: Sequence[FoundSet]) -> OnpremOutputs:
        return outputs(site, {slot: host for one in found for slot, host in one.hosts.items()})
