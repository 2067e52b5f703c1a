"""Launch and terminate hosts of the emulated cloud: namespace, cables, disk, boot seed, power.

Both do the same whether they run once or again: after a crash of labd whoever asked asks again.
"""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import cgroups, disks, network
from rackwright.lab.cloud import records, userdata
from rackwright.lab.cloud.wire import Instance, Refusal
from rackwright.lab.fabric import mac
from rackwright.lab.model import CloudHost, Nic
from rackwright.lab.protocol import LaunchRefused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import PurePosixPath

    from rackwright.lab.cloud.wire import Launch
    from rackwright.lab.hosts import Hosts
    from rackwright.lab.model import CloudPool, CloudSite, World
    from rackwright.lab.rootfs import Content


class Instances:
    """All instances of a lab's clouds; used by labd alone."""

    def __init__(self, world: World, hosts: Hosts) -> None:
        self._world = world
        self._hosts = hosts
        self._one_at_a_time = Lock()

    def now(self) -> tuple[Instance, ...]:
        """All of them, with their power; one that is terminated meanwhile is there, or is not."""
        return tuple(self._with_power(records.read_all(self._world.places)))

    def _with_power(self, hosts: Iterable[CloudHost]) -> Iterator[Instance]:
        for host in hosts:
            with suppress(KeyError):  # its record went after it was read
                yield instance(host, self._hosts.state(host.name))

    def launch(self, wanted: Launch) -> Instance:
        """Make an instance and switch it on; one that has run stays as it is.

        Raises:
            LaunchRefused: this cloud has no such machine, or no place for one more.
            EnvironmentUnfit: it cannot be made; nothing of a new one is left.
        """
        with self._one_at_a_time:
            host = records.read(self._world.places, wanted.instance)
            if host is None:
                host = self._launch(wanted)
            elif host.launch != wanted:
                raise LaunchRefused(Refusal.CHANGED, wanted.instance, "an instance of this id is there")
            else:
                self._start(host)
        return instance(host, self._hosts.state(host.name))

    def _launch(self, wanted: Launch) -> CloudHost:
        host = self._admit(wanted)
        try:
            self._start(host)
        except EnvironmentUnfit:
            self._hosts.off(host.name)
            self._remove(host)
            raise
        return host

    def _start(self, host: CloudHost) -> None:
        """Make what is missing, and switch it on for the first time."""
        for _ in self._make(host):
            pass
        if not records.console(self._world.places, host.name).exists():
            self._hosts.on(host.name)

    def terminate(self, name: str) -> None:
        """Take an instance away with its disk; one that is not there is no error.

        Raises:
            EnvironmentUnfit: something of it does not go; the same again goes on from there.
        """
        with self._one_at_a_time:
            host = records.read(self._world.places, name)
            if host is not None:
                self._hosts.off(name)
                self._remove(host)

    def build(self) -> Iterator[str]:
        """Make what is missing of those that are there; it is named when it has been made."""
        with self._one_at_a_time:
            for host in records.read_all(self._world.places):
                yield from self._make(host)

    def _admit(self, wanted: Launch) -> CloudHost:
        """Write down a new instance.

        Raises:
            LaunchRefused: it cannot be one here.
        """
        others = records.read_all(self._world.places)
        site = _site(self._world, wanted)
        pool = _pool(site, wanted)
        files = _files(wanted)
        _require_capacity(self._world, site, others, wanted)
        taken = {host.number for host in others}
        host = CloudHost(
            number=next(number for number in count() if number not in taken),
            site=site.site,
            console=str(records.console(self._world.places, wanted.instance)),
            nics=tuple(_nics(self._world, pool, wanted)),
            launch=wanted,
        )
        records.keep(self._world.places, host, files)
        return host

    def _make(self, host: CloudHost) -> Iterator[str]:
        yield from disks.build_one(self._world, host.name)
        yield from network.host(self._world, host)

    def _remove(self, host: CloudHost) -> None:
        places = self._world.places
        network.remove_host(self._world, host)
        disks.remove(places, host.name)
        cgroups.remove(f"{places.cgroup}/{host.name}")
        places.host_pid(host.name).unlink(missing_ok=True)
        places.host_log(host.name).unlink(missing_ok=True)
        self._hosts.forget(host.name)
        records.forget(places, host.name)


def instance(host: CloudHost, state: str) -> Instance:
    """An instance as others are told of it."""
    launch = host.launch
    return Instance(
        instance=launch.instance,
        type=launch.type,
        site=host.site,
        pool=launch.pool,
        slot=launch.slot,
        address=host.address,
        state=state,
    )


def _site(world: World, wanted: Launch) -> CloudSite:
    """The cloud whose subnet has the private address, free for an instance."""
    address = IPv4Address(wanted.interfaces[0].address or "0.0.0.0")  # noqa: S104 (in no subnet)
    for site in world.cloud:
        if address in IPv4Network(site.subnet.cidr):
            if address in (IPv4Interface(own).ip for own in site.subnet.addresses):
                raise LaunchRefused(Refusal.ADDRESS_IN_USE, wanted.instance, f"{address} is the router's")
            return site
    subnets = ", ".join(site.subnet.cidr for site in world.cloud) or "none"
    raise LaunchRefused(Refusal.NO_SUBNET, wanted.instance, f"{address} is not in {subnets}")


def _pool(site: CloudSite, wanted: Launch) -> CloudPool:
    """What machines of its pool are; of one without a pool's tag what any of its type are."""
    named = [site.pools[wanted.pool]] if wanted.pool in site.pools else list(site.pools.values())
    for pool in named:
        if pool.type == wanted.type:
            if len(wanted.interfaces) > 1 + len(pool.rails):
                got = f"{len(wanted.interfaces)} interfaces, where {wanted.type} has {1 + len(pool.rails)}"
                raise LaunchRefused(Refusal.NO_SUCH_TYPE, wanted.instance, got)
            return pool
    known = ", ".join(sorted({pool.type for pool in named})) or "none"
    raise LaunchRefused(Refusal.NO_SUCH_TYPE, wanted.instance, f"{wanted.type}, where there is {known}")


def _files(wanted: Launch) -> Mapping[PurePosixPath, Content]:
    try:
        return userdata.files(wanted.user_data)
    except userdata.NotUnderstood as odd:
        raise LaunchRefused(Refusal.USER_DATA, wanted.instance, str(odd)) from None


def _require_capacity(world: World, site: CloudSite, others: tuple[CloudHost, ...], wanted: Launch) -> None:
    """Raise LaunchRefused unless one more has an address, a machine, and a disk."""
    address = wanted.interfaces[0].address
    for other in others:
        if other.address == address:
            raise LaunchRefused(Refusal.ADDRESS_IN_USE, wanted.instance, f"{address} is {other.name}'s")
    here = sum(other.site == site.site for other in others)
    if here >= site.most_instances:
        got = f"{here} of {site.most_instances} instances are there"
        raise LaunchRefused(Refusal.NO_CAPACITY, wanted.instance, got)
    try:
        disks.require_space(world, disks=1)
    except EnvironmentUnfit as full:
        raise LaunchRefused(Refusal.NO_CAPACITY, wanted.instance, f"{full.message}: {full.got}") from None


def _nics(world: World, pool: CloudPool, wanted: Launch) -> Iterator[Nic]:
    """The primary interface and the rails; a rail that EC2 knows nothing of has a MAC of the lab's."""
    first, *others = wanted.interfaces
    yield Nic(interface=pool.primary, mac=first.mac, segment=network.SUBNET)
    for number, rail in enumerate(pool.rails):
        own = mac(world.cluster, wanted.instance, rail.interface)
        yield Nic(
            interface=rail.interface,
            mac=others[number].mac if number < len(others) else own,
            segment=rail.segment,
            rate_mbit=rail.rate_mbit,
        )
