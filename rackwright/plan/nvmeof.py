"""NVMe-oF storage of a spec in, what its targets serve and its hosts connect to out.

Every name is made from the slot: host NQN and id, subsystem NQN and the UUID of a namespace are UUIDs of
version 5 (RFC 9562), so that the same spec gives the same ones, and a replaced machine is who it was.
An NQN of that form needs no naming authority (NVM Express Base Specification, 4.7).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import NAMESPACE_DNS, UUID, uuid5

from rackwright.plan.nvmeof_model import (
    NvmeConnection,
    NvmeDevice,
    NvmeHost,
    NvmeIdentity,
    NvmeMount,
    NvmeofPlan,
    NvmePort,
    NvmeRoute,
    NvmeServed,
    NvmeTarget,
)
from rackwright.spec.nvmeof import NvmeOverFabrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwright.plan.model import PoolPlan, Slot
    from rackwright.plan.nvmeof_model import AnaState
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.nvmeof import NvmeNamespace, NvmePath, NvmeSubsystem

_NQN = "nqn.2014-08.org.nvmexpress:uuid:"
RECONNECT_S = 10
"""Kernel default of ``reconnect_delay``."""
LOSS_TIMEOUT_S = {"data": -1, "scratch": 600}
"""Data: never, for a file system that lost its device is read-only (nvme-cli#2073). Scratch: the
kernel's default of ``ctrl_loss_tmo``."""
_PORT_IDS = 65535
"""nvmet's port ids are 16 bits, from 1."""
_SERIAL_DIGITS = 20
"""Of a serial number, characters (NVM Express Base Specification, Identify Controller)."""


@dataclass(frozen=True, slots=True)
class _Path:
    """One way from hosts to a target: the two have an address in one network."""

    network: str
    """``management``, or fabric and rail: ``store/0``."""
    states: NvmePath

    def address(self, slot: Slot) -> str | None:
        """A slot's address here, without its length."""
        found = _addresses(slot).get(self.network)
        return found.partition("/")[0] if found else None


def _addresses(slot: Slot) -> dict[str, str]:
    rails = {f"{port.fabric}/{port.rail}": port.address for port in slot.ports if port.address}
    return slot.addresses | rails


def nvmeof(spec: ClusterSpec, pools: Mapping[str, PoolPlan]) -> NvmeofPlan | None:
    """Targets and hosts of all storage, None without any; what a rule refuses is left out."""
    slots = {name: slot for pool in pools.values() for name, slot in pool.slots.items()}
    builder = _Builder(f"{spec.cluster.name}.{spec.cluster.domain}", slots, pools)
    for name, storage in sorted(spec.storage.items()):
        if isinstance(storage, NvmeOverFabrics):
            builder.add(name, storage)
    return builder.plan() if builder.served else None


def identity(cluster: str, slot: str) -> NvmeIdentity:
    """Of a slot.

    Args:
        cluster: name and domain: ``atlas.atlas.example``.
        slot: its name.
    """
    made = str(_uuid(cluster, "host", slot))
    return NvmeIdentity(nqn=_NQN + made, id=made)


def _uuid(cluster: str, *words: str) -> UUID:
    return uuid5(uuid5(NAMESPACE_DNS, cluster), "/".join(("rackwright", "nvmeof", *words)))


class _Builder:
    """All storage comes together by slot: a slot has one target and one identity."""

    def __init__(self, cluster: str, slots: Mapping[str, Slot], pools: Mapping[str, PoolPlan]) -> None:
        self.cluster = cluster
        self.slots = slots
        self.pools = pools
        self.ports: dict[str, dict[int, NvmePort]] = {}
        self.served: dict[str, dict[str, NvmeServed]] = {}
        self.used: dict[str, dict[str, NvmeConnection]] = {}
        self.secrets: dict[str, str] = {}

    def add(self, name: str, storage: NvmeOverFabrics) -> None:
        """One storage; a slot of its pools that has no part in it any more is told so."""
        for slot in self._slots(storage.targets):
            self.served.setdefault(slot, {})
            self.ports.setdefault(slot, {})
        for slot in self._slots(storage.hosts):
            self.used.setdefault(slot, {})
        if storage.dhchap is not None and storage.subsystems:
            self.secrets[name] = storage.dhchap
        for key, subsystem in sorted(storage.subsystems.items()):
            if subsystem.target in self.ports and set(subsystem.hosts) <= self.used.keys():
                self._subsystem(name, storage, key, subsystem)

    def _slots(self, pools: Iterable[str]) -> Iterator[str]:
        return (slot for pool in pools if pool in self.pools for slot in self.pools[pool].slots)

    def _subsystem(self, name: str, storage: NvmeOverFabrics, key: str, subsystem: NvmeSubsystem) -> None:
        made = _uuid(self.cluster, "subsystem", name, key)
        nqn, target = _NQN + str(made), self.slots[subsystem.target]
        self.ports.setdefault(target.name, {})
        paths = list(self._paths(storage, target))
        ports = [self._port(storage, target, path) for path in paths]
        self.served.setdefault(target.name, {})[nqn] = NvmeServed(
            storage=name,
            serial=made.hex[:_SERIAL_DIGITS],
            hosts={slot: identity(self.cluster, slot).nqn for slot in sorted(subsystem.hosts)},
            authenticated=storage.dhchap is not None,
            namespaces=self._devices(name, key, subsystem),
            ports=tuple(port.id for port in ports),
        )
        for slot in subsystem.hosts:
            self.used.setdefault(slot, {})[nqn] = self._connection(
                name, storage, key, subsystem, self._routes(paths, ports, self.slots[slot])
            )

    def _paths(self, storage: NvmeOverFabrics, target: Slot) -> Iterator[_Path]:
        """Networks of the storage in which the target has an address; a fabric has one a rail."""
        for network, states in sorted(storage.networks.items()):
            for place in _addresses(target):
                if place == network or place.partition("/")[0] == network:
                    yield _Path(place, states)

    def _port(self, storage: NvmeOverFabrics, target: Slot, path: _Path) -> NvmePort:
        known, address = self.ports[target.name], path.address(target) or ""
        place = f"{storage.transport} {address} {storage.service}"
        number = zlib.crc32(place.encode()) % _PORT_IDS + 1
        while number in known and _place(known[number]) != place:
            number = number % _PORT_IDS + 1
        before = known[number].ana if number in known else {}
        known[number] = NvmePort(
            id=number,
            transport=storage.transport,
            address=address,
            service=storage.service,
            ana=before | _ana(path.states),
        )
        return known[number]

    def _devices(self, name: str, key: str, subsystem: NvmeSubsystem) -> tuple[NvmeDevice, ...]:
        made = (
            NvmeDevice(
                nsid=one.nsid,
                uuid=self._namespace_uuid(name, key, one),
                device=one.device,
                ana_group=one.ana_group,
                holds_data=one.holds_data,
            )
            for one in subsystem.namespaces.values()
        )
        return tuple(sorted(made, key=lambda one: one.nsid))

    def _namespace_uuid(self, name: str, key: str, one: NvmeNamespace) -> str:
        return str(_uuid(self.cluster, "namespace", name, key, str(one.nsid)))

    def _routes(self, paths: list[_Path], ports: list[NvmePort], host: Slot) -> tuple[NvmeRoute, ...]:
        return tuple(
            NvmeRoute(
                transport=port.transport,
                address=port.address,
                service=port.service,
                source=path.address(host),
            )
            for path, port in zip(paths, ports, strict=True)
            if path.address(host) is not None
        )

    def _connection(
        self,
        name: str,
        storage: NvmeOverFabrics,
        key: str,
        subsystem: NvmeSubsystem,
        routes: tuple[NvmeRoute, ...],
    ) -> NvmeConnection:
        loss, spaces = subsystem.loss_timeout_s, subsystem.namespaces.values()
        ordered = sorted(spaces, key=lambda one: one.nsid)
        mounts = (
            NvmeMount(uuid=self._namespace_uuid(name, key, one), file_system=one.file_system, mount=one.mount)
            for one in ordered
            if one.mount is not None and one.file_system is not None
        )
        return NvmeConnection(
            storage=name,
            target=subsystem.target,
            routes=routes,
            authenticated=storage.dhchap is not None,
            reconnect_s=subsystem.reconnect_s or RECONNECT_S,
            loss_timeout_s=LOSS_TIMEOUT_S[subsystem.use] if loss is None else loss,
            policy=subsystem.policy,
            namespaces=tuple(self._namespace_uuid(name, key, one) for one in ordered),
            mounts=tuple(mounts),
        )

    def plan(self) -> NvmeofPlan:
        """All of it."""
        targets = {
            slot: NvmeTarget(
                ports=tuple(port for _, port in sorted(self.ports[slot].items())),
                subsystems=dict(sorted(served.items())),
            )
            for slot, served in sorted(self.served.items())
        }
        hosts = {
            slot: NvmeHost(identity=identity(self.cluster, slot), subsystems=dict(sorted(used.items())))
            for slot, used in sorted(self.used.items())
        }
        return NvmeofPlan(targets=targets, hosts=hosts, secrets=self.secrets)


def _place(port: NvmePort) -> str:
    return f"{port.transport} {port.address} {port.service}"


def _ana(states: NvmePath) -> dict[str, AnaState]:
    worse: dict[str, AnaState] = {str(group): "non-optimized" for group in sorted(states.non_optimized)}
    gone: dict[str, AnaState] = {str(group): "inaccessible" for group in sorted(states.inaccessible)}
    return worse | gone
