"""Rules on NVMe over fabrics: who serves, who connects, and that no data is lost by a slip of the pen."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from rackwright.checks.registry import Breach, plan_rule, rule
from rackwright.findings import Level, SpecPath, did_you_mean
from rackwright.spec.nvmeof import NvmeOverFabrics
from rackwright.spec.sites import MANAGEMENT
from rackwright.spec.slots import slot_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.checks.registry import PlanSubject, SpecSubject
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.nvmeof import NvmeNamespace, NvmeSubsystem

_BASE = "NVM Express Base Specification 2.0"
_BY_CHANCE = re.compile(r"/dev/(sd|vd|xvd|nvme\d+n|loop|dm-|md)")


class _Space(NamedTuple):
    """One namespace and its place in the spec."""

    at: SpecPath
    subsystem: NvmeSubsystem
    namespace: NvmeNamespace


def _storages(spec: ClusterSpec) -> Iterator[tuple[SpecPath, NvmeOverFabrics]]:
    for name, storage in spec.storage.items():
        if isinstance(storage, NvmeOverFabrics):
            yield SpecPath() / "storage" / name, storage


def _subsystems(spec: ClusterSpec) -> Iterator[tuple[SpecPath, NvmeOverFabrics, NvmeSubsystem]]:
    for at, storage in _storages(spec):
        for name, subsystem in storage.subsystems.items():
            yield at / "subsystems" / name, storage, subsystem


def _namespaces(spec: ClusterSpec) -> Iterator[_Space]:
    for at, _, subsystem in _subsystems(spec):
        for name, namespace in subsystem.namespaces.items():
            yield _Space(at / "namespaces" / name, subsystem, namespace)


@rule(
    "NVME001",
    remedy="add its subsystems",
    source="a storage without subsystems is planned as nothing",
    level=Level.WARNING,
)
def nvmeof_serves_something(subject: SpecSubject) -> Iterator[Breach]:
    """NVMe-oF storage has subsystems."""
    for at, storage in _storages(subject.spec):
        if not storage.subsystems:
            yield Breach(
                at, "it serves nothing", got="no subsystems", expected="subsystems with target and hosts"
            )


def _slots(spec: ClusterSpec, pools: list[str]) -> list[str]:
    return [
        slot_name(name, number)
        for name in pools
        if name in spec.pools
        for number in range(1, spec.pools[name].nodes.static + spec.pools[name].nodes.burst + 1)
        if number not in spec.pools[name].nodes.retired
    ]


@rule("NVME002", remedy="name a slot of these pools", source="docs/decisions/0003: slots are identity")
def nvmeof_names_slots_of_its_pools(subject: SpecSubject) -> Iterator[Breach]:
    """A subsystem's target is a slot of the storage's targets, and its hosts are slots of its hosts."""
    for at, storage, subsystem in _subsystems(subject.spec):
        serving, using = (_slots(subject.spec, pools) for pools in (storage.targets, storage.hosts))
        named = [(at / "target", subsystem.target, "targets", serving)]
        named += [(at / "hosts" / n, slot, "hosts", using) for n, slot in enumerate(subsystem.hosts)]
        for place, slot, key, known in named:
            if slot not in known:
                yield Breach(
                    place,
                    f"{slot} is no slot of the pools in {key}",
                    got=slot,
                    expected=f"a slot of {', '.join(storage.targets if key == 'targets' else storage.hosts)}",
                    hint=did_you_mean(slot, known),
                )


@rule("NVME003", remedy="give it the next free number", source=f"{_BASE}, 3.2.1: namespace identifiers")
def namespace_numbers_are_used_once(subject: SpecSubject) -> Iterator[Breach]:
    """No two namespaces of a subsystem have one number."""
    for at, _, subsystem in _subsystems(subject.spec):
        seen: dict[int, str] = {}
        for name, namespace in subsystem.namespaces.items():
            first = seen.setdefault(namespace.nsid, name)
            if first != name:
                yield Breach(
                    at / "namespaces" / name / "nsid",
                    f"{name} and {first} have one number",
                    got=str(namespace.nsid),
                    expected=f"another; the next free one is {max(seen) + 1}",
                )


@rule(
    "NVME004", remedy="give each namespace a device of its own", source="two writers of one device lose data"
)
def devices_are_served_once(subject: SpecSubject) -> Iterator[Breach]:
    """No target serves one device twice."""
    seen: dict[tuple[str, str], SpecPath] = {}
    for space in _namespaces(subject.spec):
        key = (space.subsystem.target, space.namespace.device)
        first = seen.setdefault(key, space.at)
        if first != space.at:
            yield Breach(
                space.at / "device",
                f"{key[0]} would serve {key[1]} twice",
                got=f"{key[1]}, as in {first}",
                expected="a device that no other namespace has",
            )


@rule(
    "NVME005", remedy="name one host, or mount nothing", source="ext4(5), xfs(5): for one machine at a time"
)
def file_systems_have_one_host(subject: SpecSubject) -> Iterator[Breach]:
    """A namespace with a file system is for one host, and one that is mounted has a file system."""
    for at, subsystem, namespace in _namespaces(subject.spec):
        if namespace.file_system is not None and len(subsystem.hosts) > 1:
            yield Breach(
                at / "file_system",
                "several hosts would write to one file system, and destroy it",
                got=f"{namespace.file_system} for {', '.join(subsystem.hosts)}",
                expected="one host",
                hint="give each host a subsystem, or leave file_system and mount to a cluster file system",
            )
        if namespace.mount is not None and namespace.file_system is None:
            yield Breach(
                at / "mount",
                "nobody knows which file system is to be mounted",
                got="mount without file_system",
                expected="file_system: ext4 or xfs",
                hint="add file_system",
            )


@rule(
    "NVME006", remedy="name a network of the site, or a fabric", source="Linux, nvme target: traddr of a port"
)
def nvmeof_networks_are_there(subject: SpecSubject) -> Iterator[Breach]:
    """A network of NVMe-oF storage is one of its site or a fabric."""
    for at, storage in _storages(subject.spec):
        site = subject.spec.sites.get(storage.site)
        known = [*getattr(site, "networks", {MANAGEMENT: None}), *subject.spec.fabrics]
        for name in storage.networks:
            if name not in known:
                yield Breach(
                    at / "networks" / name,
                    f"there is no network or fabric {name}",
                    got=name,
                    expected=f"one of {', '.join(sorted(known))}",
                    hint=did_you_mean(name, known),
                )


@rule(
    "NVME007",
    remedy="name it as /dev/disk/by-id/… or by-path/… does",
    source="udev(7): kernel names follow the order of discovery",
    level=Level.WARNING,
)
def devices_have_lasting_names(subject: SpecSubject) -> Iterator[Breach]:
    """A namespace's device has a name that stays over reboots."""
    for space in _namespaces(subject.spec):
        if _BY_CHANCE.match(space.namespace.device):
            yield Breach(
                space.at / "device",
                "after a reboot this may be another device",
                got=space.namespace.device,
                expected="a name below /dev/disk/by-id or by-path",
            )


@rule(
    "NVME008",
    remedy="set dhchap to a file of keys made by `nvme gen-dhchap-key`",
    source=f"{_BASE}, 8.13: a host NQN is no proof",
    level=Level.WARNING,
)
def hosts_prove_who_they_are(subject: SpecSubject) -> Iterator[Breach]:
    """Hosts of NVMe-oF storage prove who they are."""
    for at, storage in _storages(subject.spec):
        if storage.subsystems and storage.dhchap is None:
            yield Breach(
                at,
                "whoever sends the NQN of an allowed host is let in",
                got="no dhchap",
                expected="DH-CHAP keys, by reference",
            )


@rule("NVME009", remedy="mount it elsewhere", source="mount(8): a later mount hides what is there")
def nvmeof_mounts_hide_nothing(subject: SpecSubject) -> Iterator[Breach]:
    """No namespace is mounted at, or inside, the mount of another on the same host."""
    seen: dict[str, list[tuple[PurePosixPath, SpecPath]]] = {}
    for at, subsystem, namespace in _namespaces(subject.spec):
        if namespace.mount is None:
            continue
        here = PurePosixPath(namespace.mount)
        for host in subsystem.hosts:
            for there, first in seen.setdefault(host, []):
                if here.is_relative_to(there) or there.is_relative_to(here):
                    yield Breach(
                        at / "mount",
                        f"two namespaces are mounted over one another on {host}",
                        got=f"{here}, where {first} is at {there}",
                        expected="mounts that do not contain one another",
                    )
            seen[host].append((here, at))


@rule("NVME010", remedy="correct the number of the group", source="Linux, nvme target: ana_groups of a port")
def ana_groups_are_used(subject: SpecSubject) -> Iterator[Breach]:
    """An ANA group that a network names is a namespace's, and has one state there."""
    for at, storage in _storages(subject.spec):
        used = Counter(one.ana_group for s in storage.subsystems.values() for one in s.namespaces.values())
        for name, path in storage.networks.items():
            strange = (path.non_optimized | path.inaccessible) - set(used)
            twice = path.non_optimized & path.inaccessible
            if strange or twice:
                yield Breach(
                    at / "networks" / name,
                    "a group with two states" if twice else "no namespace is in that group",
                    got=", ".join(str(group) for group in sorted(twice or strange)),
                    expected=f"groups {', '.join(str(group) for group in sorted(used)) or 'none'}, once each",
                )


@plan_rule("NVME011", remedy="put both on one of the networks", source="a path has two ends in one network")
def hosts_reach_their_target(subject: PlanSubject) -> Iterator[Breach]:
    """Every host of a subsystem has a path to its target."""
    for at, _, subsystem in _subsystems(subject.spec):
        for number, slot in enumerate(subsystem.hosts):
            host = subject.plan.nvmeof.hosts.get(slot) if subject.plan.nvmeof else None
            lost = [one for one in (host.subsystems.values() if host else ()) if not one.routes]
            if any(one.target == subsystem.target for one in lost):
                yield Breach(
                    at / "hosts" / number,
                    f"{slot} has no way to {subsystem.target}",
                    got="no network in which both have an address",
                    expected="one in networks",
                )


@rule(
    "NVME014",
    remedy="ask for keys in both storages, or serve them from different targets",
    source="Linux, nvme target: a host of configfs, and its key, is one for all subsystems",
)
def hosts_prove_who_they_are_to_all_of_a_target_or_to_nothing(subject: SpecSubject) -> Iterator[Breach]:
    """No target asks one host for its key in one storage, and not in another."""
    seen: dict[tuple[str, str], tuple[bool, SpecPath]] = {}
    for at, storage, subsystem in _subsystems(subject.spec):
        proves = storage.dhchap is not None
        for number, slot in enumerate(subsystem.hosts):
            before, first = seen.setdefault((subsystem.target, slot), (proves, at))
            if before != proves:
                yield Breach(
                    at / "hosts" / number,
                    f"{subsystem.target} would ask {slot} for its key in one of this and {first}",
                    got="dhchap" if proves else "no dhchap",
                    expected="dhchap" if before else "no dhchap",
                )
