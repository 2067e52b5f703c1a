"""A pool's plan in, the files out that set its hosts' kernels: one a subject, none for what is not set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.kernel import IN_KIB
from rackwright.render.templates import render

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.catalogue.tuning import Settings
    from rackwright.kernel import Amount, Limit
    from rackwright.plan.model import PoolPlan
    from rackwright.plan.rdma_model import RdmaHost

SCHEMA = "rackwright/kernel-tuning/1"
RDMA_ARP = {"rp_filter": 2, "arp_ignore": 2, "arp_announce": 1}
"""An interface answers for its own address alone, and asks with it (oci-hpc, role rdma-interface)."""
WANTED = "kernel-tuning.json"
"""All of it, for the program that sets what only a running kernel can be told."""
_SUBJECTS = {
    "sysctl.conf": ("sysctl",),
    "limits.conf": ("limits",),
    "system.conf": ("daemon_limits",),
    "modprobe.conf": ("module_options", "block_modules"),
    "modules-load.conf": ("load_modules",),
    "grub.cfg": ("words",),
    "irqbalance.conf": ("interrupts",),
}
"""File → values of which one at least is set where it is made."""


def files(pool: PoolPlan, rdma: Mapping[str, RdmaHost]) -> dict[str, str]:
    """Name → content; `WANTED` is always there.

    Args:
        pool: the pool.
        rdma: slot → its interfaces with RDMA over Ethernet, whose ARP rules are role rdma_nics' alone.
    """
    settings, rails = pool.tuning, _rails(pool)
    words, sysctl = command_line(settings), sysctls(settings, _without_rules(pool, rails, rdma))
    values = _values(settings, sysctl, words)
    made = {
        name: render(f"tuning/{name}.j2", values)
        for name, needed in _SUBJECTS.items()
        if any(values[one] for one in needed)
    }
    return {**made, WANTED: canonical.dumps(_wanted(settings, sysctl, rails, words))}


def _values(settings: Settings, sysctl: Mapping[str, str | int], words: list[str]) -> dict[str, object]:
    """What templates name."""
    return {
        "sysctl": sorted(sysctl.items()),
        "limits": sorted(settings.limits.items()),
        "daemon_limits": [
            (name.upper(), _for_systemd(name, value)) for name, value in sorted(settings.limits.items())
        ],
        "module_options": [
            (module, " ".join(f"{key}={value}" for key, value in sorted(options.items())))
            for module, options in sorted(settings.module_options.items())
        ],
        "block_modules": settings.block_modules,
        "load_modules": settings.load_modules,
        "words": " ".join(words),
        "interrupts": settings.interrupts,
    }


def _for_systemd(name: Limit, value: Amount) -> str:
    """A limit of limits.conf(5), which counts some in KiB where systemd counts in bytes."""
    if value == "unlimited":
        return "infinity"
    return f"{value}K" if name in IN_KIB else str(value)


def _rails(pool: PoolPlan) -> list[str]:
    """Interfaces of its hosts on rails, which all its hosts have the same."""
    first = next(iter(pool.slots.values()), None)
    return [port.interface for port in first.ports if port.interface] if first else []


def _without_rules(pool: PoolPlan, rails: list[str], rdma: Mapping[str, RdmaHost]) -> list[str]:
    """Rails whose ARP rules nobody else sets."""
    hosts = (rdma[slot.name] for slot in pool.slots.values() if slot.name in rdma)
    theirs = {nic.interface for host in hosts for nic in host.nics}
    return [rail for rail in rails if rail not in theirs]


def sysctls(settings: Settings, rails: list[str]) -> Mapping[str, str | int]:
    """Those that are stated, and the ARP rules of each rail."""
    arp = {
        f"net.ipv4.conf.{rail}.{key}": value
        for rail in rails
        if settings.rdma_arp
        for key, value in RDMA_ARP.items()
    }
    return {**arp, **settings.sysctl}


def command_line(settings: Settings) -> list[str]:
    """Words of the kernel's command line: those stated, the reserved pages, the blocked modules."""
    return [*_stated(settings), *_pages(settings), *_blocked(settings)]


def _stated(settings: Settings) -> Iterator[str]:
    for key, value in settings.cmdline.items():
        if value is not False:
            yield key if value is True else f"{key}={value}"


def _pages(settings: Settings) -> Iterator[str]:
    for size, count in sorted(settings.hugepages.items()):
        yield from (f"hugepagesz={size}", f"hugepages={count}")


def _blocked(settings: Settings) -> Iterator[str]:
    """A module that the initramfs would load knows no file of the root."""
    if settings.block_modules:
        yield f"module_blacklist={','.join(settings.block_modules)}"


def _wanted(
    settings: Settings, sysctl: Mapping[str, str | int], rails: list[str], words: list[str]
) -> dict[str, canonical.Json]:
    stated = settings.model_dump(mode="json", exclude_defaults=True)
    if not stated:
        return {"schema": SCHEMA, "settings": {}}
    stated |= {"sysctl": dict(sysctl), "words": list(words)}
    return {"schema": SCHEMA, "settings": stated, "rails": list(rails)}
