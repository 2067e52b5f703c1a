"""The life of a HostSet, without any engine: wanted set in, found set out.

The provider is a thin shell over these functions; a later `node replace` calls the same ones.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwright.provision.onprem import failures
from rackwright.provision.onprem.changes import changes
from rackwright.provision.onprem.model import FoundHost, FoundSet, WantedHost, WantedSet
from rackwright.provision.onprem.reconcile import Reconciler, bring_up, identify, look
from rackwright.provision.onprem.redfish import Access, require_authority
from rackwright.spec.credentials import parse
from rackwright.spec.references import locate, read_secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwright.errors import Failure
    from rackwright.plan.model import BmcPlan
    from rackwright.provision.places import Folders

_NOBODY: Mapping[str, str] = MappingProxyType({})


def access(bmc: BmcPlan, folders: Folders) -> Access:
    """Read what the references of a site stand for, now.

    Raises:
        EnvironmentUnfit: a file is missing, not readable or not understood.
    """
    authority = locate(bmc.ca, folders.spec, folders.state)
    require_authority(authority, bmc.ca)
    text = read_secret(bmc.credentials, folders.spec, folders.state)
    return Access(bmc.port, authority, parse(text, bmc.credentials))


def brought_up(
    found: FoundSet | None,
    wanted: WantedSet,
    reach: Access,
    reconciler: Reconciler,
    busy: Mapping[str, str] = _NOBODY,
) -> FoundSet:
    """Bring up the hosts that are not as wanted, and carry the others over as they were found.

    Args:
        found: the set as last found; none where it is new.
        wanted: the set as the plan wants it.
        reach: how controllers are reached.
        reconciler: shared by the sets of a process.
        busy: slot → job that runs on it: such a host is held, and told apart from one that is as wanted.
    """
    before = found.hosts if found is not None else {}
    differing = {change.slot for change in changes(before, wanted.hosts)}
    todo = {
        slot: _spared(host, busy.get(slot, "")) for slot, host in wanted.hosts.items() if slot in differing
    }
    done = reconciler.each(bring_up, todo, reach)
    kept = {slot: before[slot] for slot in wanted.hosts.keys() - differing}
    return _found(wanted, kept | done)


def _spared(host: WantedHost, job: str) -> WantedHost:
    """A host with a job is held, as one in maintenance is."""
    return host.model_copy(update={"held": job, "power": "held"}) if job and not host.held else host


def read(found: FoundSet, reach: Access, reconciler: Reconciler) -> FoundSet:
    """Look at every host that is not held; one whose turn did not come is as it was found before."""
    looked = reconciler.each(look, found.hosts, reach)
    return _found(
        found, {slot: found.hosts[slot] if _not_begun(host) else host for slot, host in looked.items()}
    )


def _not_begun(host: FoundHost) -> bool:
    return host.failure is not None and host.failure.code == failures.INTERRUPTED


def foreseen(wanted: WantedSet) -> FoundSet:
    """What a preview expects: every host as wanted."""
    hosts = {
        slot: FoundHost(**host.model_dump(), found_serial="" if host.held else host.serial)
        for slot, host in wanted.hosts.items()
    }
    return _found(wanted, hosts)


def previewed(found: FoundSet | None, wanted: WantedSet, reach: Access, reconciler: Reconciler) -> FoundSet:
    """As foreseen, but for new hosts that an `up` could not bring up: each with its reason."""
    known = found.hosts if found is not None else {}
    new = {slot: host for slot, host in wanted.hosts.items() if slot not in known}
    looked = reconciler.each(identify, new, reach)
    failing = {slot: host for slot, host in looked.items() if host.failure is not None}
    return _found(wanted, {**foreseen(wanted).hosts, **failing})


def drifted(wanted: WantedSet, found: FoundSet) -> WantedSet:
    """Inputs as they would have to be for the hosts to be as wanted; an engine compares these too."""
    hosts = {slot: _as_found(host, found.hosts.get(slot)) for slot, host in wanted.hosts.items()}
    return wanted.model_copy(update={"hosts": hosts})


def _as_found(wanted: WantedHost, found: FoundHost | None) -> WantedHost:
    if found is None:
        return wanted
    return wanted.model_copy(update={"power": found.power})


def failures_of(hosts: Mapping[str, FoundHost]) -> Iterable[Failure]:
    """Hosts that are not as wanted, each with its reason."""
    for slot, host in sorted(hosts.items()):
        if host.failure is not None:
            yield host.failure.of(slot)


def _found(wanted: WantedSet | FoundSet, hosts: Mapping[str, FoundHost]) -> FoundSet:
    ordered = {slot: hosts[slot] for slot in sorted(hosts)}
    return FoundSet(site=wanted.site, pool=wanted.pool, bmc=wanted.bmc, hosts=ordered)
