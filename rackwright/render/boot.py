"""A plan in, boot seeds out: what a network-boot server hands a host by its boot MAC.

The tree that is written below the boot folder has one folder a slot, and one a site for what all
its slots share (``_hall``; no slot's name begins with ``_``). A boot server lays the site's files
into the root first, then the slot's::

    _hall/etc/hosts                 node-001/etc/hostname
    _hall/etc/sudoers.d/rackwright  node-001/etc/systemd/network/10-management.network
    …                               …

So a cluster of any size has one hosts file, not one a host.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.render.templates import render
from rackwright.spec.fabrics import Ethernet
from rackwright.spec.sites import MANAGEMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rackwright.plan.model import Asset, LoginPlan, NetworkPlan, OnpremSitePlan, Plan, Slot

HOSTS = "hosts"
"""File beside the seeds that the roles lay: names and addresses of all hosts, over all sites."""
_NETWORKD = "etc/systemd/network"
LOGIN_UID = 2000
"""Of the login user, and of its group: Slurm knows the owner of a job by number, on all hosts alike."""


@dataclass(frozen=True, slots=True)
class SeedFile:
    """One file of the boot folder."""

    path: str
    """Relative to it: ``node-001/etc/hostname``."""
    content: str


def site_folder(site: str) -> str:
    """Folder of what all slots of a site share."""
    return f"_{site}"


def seeds(plan: Plan, authorized_keys: Sequence[str]) -> Iterator[SeedFile]:
    """Every file of the boot folder, for all halls and all slots that have a machine.

    Args:
        plan: the plan.
        authorized_keys: public keys that may log in, as they stand in ``authorized_keys``.
    """
    hosts = hosts_file(plan.cluster.domain, all_slots(plan))
    for name, site in sorted(plan.sites.items()):
        if site.kind == "onprem":
            shared = {"etc/hosts": hosts, **login_files(site.access, authorized_keys)}
            yield from _below(site_folder(name), shared)
            yield from _slots(plan, name, site)


def write(plan: Plan, folder: Path, authorized_keys: Sequence[str]) -> None:
    """Write every seed below a folder, and take away the folders of slots that are gone.

    Raises:
        OSError: a file could not be written whole; it is then the old one.
    """
    there = {seed.path: seed.content for seed in seeds(plan, authorized_keys)}
    for path, content in there.items():
        canonical.write_atomic(folder / path, content)
    tops = {path.partition("/")[0] for path in there}
    for gone in folder.iterdir() if folder.is_dir() else ():
        if gone.name not in tops and gone.is_dir() and not gone.is_symlink():
            with suppress(FileNotFoundError):
                shutil.rmtree(gone)


def _slots(plan: Plan, site_name: str, site: OnpremSitePlan) -> Iterator[SeedFile]:
    for pool in plan.pools.values():
        if pool.site == site_name:
            for slot in pool.slots.values():
                if slot.asset is not None:
                    yield from _below(slot.name, slot_files(plan, site, slot, slot.asset))


def _below(folder: str, files: dict[str, str]) -> Iterator[SeedFile]:
    return (SeedFile(f"{folder}/{path}", content) for path, content in sorted(files.items()))


def hosts_file(domain: str, slots: Iterable[Slot], launched: Mapping[str, str] | None = None) -> str:
    """Names and addresses of some hosts.

    Args:
        domain: of the cluster.
        slots: those to name, of whatever site; one without an address before launch is left out.
        launched: slot → address that it got at launch, without prefix length.
    """
    return render("boot/hosts.j2", {"hosts": list(_host_lines(domain, slots, launched or {}))})


def all_slots(plan: Plan) -> Iterator[Slot]:
    """Slots of all pools and sites."""
    return (slot for pool in plan.pools.values() for slot in pool.slots.values())


@dataclass(frozen=True, slots=True)
class _HostLine:
    address: str
    names: str


def _host_lines(domain: str, slots: Iterable[Slot], launched: Mapping[str, str]) -> Iterator[_HostLine]:
    """Management address, full and short name."""
    for slot in slots:
        address = slot.addresses.get(MANAGEMENT, launched.get(slot.name, "")).partition("/")[0]
        if address:
            yield _HostLine(address, f"{slot.name}.{domain} {slot.name}")


def login_files(access: LoginPlan, authorized_keys: Sequence[str]) -> dict[str, str]:
    """The login user with sudo, the keys that open it, and no name server to wait for."""
    values = {"user": access.user, "uid": LOGIN_UID, "keys": list(authorized_keys)}
    return {
        "etc/resolv.conf": render("boot/resolv.conf.j2", values),
        "etc/sysusers.d/rackwright.conf": render("boot/sysusers.conf.j2", values),
        "etc/systemd/system/systemd-sysusers.service.d/10-rackwright.conf": render(
            "boot/sysusers-always.conf.j2", values
        ),
        "etc/tmpfiles.d/rackwright.conf": render("boot/tmpfiles.conf.j2", values),
        "etc/sudoers.d/rackwright": render("boot/sudoers.j2", values),
        "etc/ssh/sshd_config.d/10-rackwright.conf": render("boot/sshd.conf.j2", values),
        f"etc/ssh/authorized_keys.d/{access.user}": render("boot/authorized_keys.j2", values),
    }


def slot_files(plan: Plan, site: OnpremSitePlan, slot: Slot, asset: Asset) -> dict[str, str]:
    """The host's name and its interfaces."""
    return {
        "etc/hostname": f"{slot.name}\n",
        f"{_NETWORKD}/10-management.network": _management(site.networks[MANAGEMENT], slot, asset),
        **rail_files(plan, slot),
    }


def rail_files(plan: Plan, slot: Slot) -> dict[str, str]:
    """Its interfaces on rails that have addresses."""
    files = {}
    for port in slot.ports:
        fabric = plan.fabrics[port.fabric]
        if port.interface is not None and port.address is not None and isinstance(fabric, Ethernet):
            link = Interface(
                what=f"{port.fabric}, rail {port.rail}",
                match=f"Name={port.interface}",
                network=(f"Address={port.address}",),
                mtu=fabric.mtu,
            )
            files[f"{_NETWORKD}/20-{port.interface}.network"] = link.text()
    return files


@dataclass(frozen=True, slots=True)
class Interface:
    """One ``.network`` file of systemd-networkd.

    Args:
        what: for the reader.
        match: how it is known: one line of its section ``[Match]``.
        network: lines of its section ``[Network]``.
        mtu: in bytes.
    """

    what: str
    match: str
    network: tuple[str, ...]
    mtu: int

    def text(self) -> str:
        """The file."""
        return render("boot/interface.network.j2", {"interface": self})


def _management(network: NetworkPlan, slot: Slot, asset: Asset) -> str:
    """Matched by the MAC the machine boots by: the names of interfaces differ, that does not."""
    return Interface(
        what=MANAGEMENT,
        match=f"MACAddress={asset.boot_mac}",
        network=(f"Address={slot.addresses[MANAGEMENT]}", f"Gateway={network.gateway}"),
        mtu=network.mtu,
    ).text()
