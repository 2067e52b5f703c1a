"""Rules on file systems."""

from __future__ import annotations

from itertools import combinations
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rackwright.checks.registry import Breach, rule
from rackwright.findings import SpecPath
from rackwright.spec.sites import AwsSite
from rackwright.spec.storage import FsxLustre, LocalNvme, Lustre, NvmeOverFabrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.checks.registry import SpecSubject
    from rackwright.spec.cluster import ClusterSpec

_FSX = "FSx for Lustre User Guide, storage capacity"
FSX_FIRST_GIB = 1200
FSX_STEP_GIB = 2400
FSX_EFA_STEP_GIB = {125: 38_400, 250: 19_200, 500: 9_600, 1000: 4_800}
"""Throughput tier, MB/s per TiB → steps of capacity with EFA."""


def _fsx(subject: SpecSubject) -> Iterator[tuple[SpecPath, FsxLustre]]:
    for name, storage in subject.spec.storage.items():
        if isinstance(storage, FsxLustre):
            yield SpecPath() / "storage" / name, storage


@rule("FSX001", remedy="round up to the next step", source=_FSX)
def fsx_capacity_comes_in_steps(subject: SpecSubject) -> Iterator[Breach]:
    """The capacity of an FSx file system is a step of its tier, larger steps with EFA."""
    for at, storage in _fsx(subject):
        gib, tier = storage.capacity_gib, storage.mbps_per_tib
        if gib is None or tier is None:
            continue
        step = FSX_EFA_STEP_GIB[tier] if storage.efa else FSX_STEP_GIB
        if gib % step and (storage.efa or gib != FSX_FIRST_GIB):
            first = "" if storage.efa else f"{FSX_FIRST_GIB}, or "
            yield Breach(
                at / "capacity_gib",
                f"FSx has no file system of {gib} GiB {'with' if storage.efa else 'without'} EFA",
                got=f"{gib} GiB at {tier} MB/s per TiB",
                expected=f"{first}a multiple of {step} GiB",
                hint=f"the next one is {-(-gib // step) * step}",
            )


@rule("FSX002", remedy="state both, or name the one that exists", source="FSx API: CreateFileSystem")
def fsx_says_what_it_is(subject: SpecSubject) -> Iterator[Breach]:
    """An FSx file system has a capacity and a throughput, or it exists already, never both."""
    for at, storage in _fsx(subject):
        figures = {"capacity_gib": storage.capacity_gib, "mbps_per_tib": storage.mbps_per_tib}
        given = [key for key, figure in figures.items() if figure is not None]
        if storage.existing is None and len(given) < len(figures):
            yield Breach(
                at,
                "a new FSx file system needs its capacity and its throughput",
                got=f"only {given[0]}" if given else "neither",
                expected="capacity_gib and mbps_per_tib",
            )
        elif storage.existing is not None and given:
            yield Breach(
                at / given[0],
                f"{storage.existing} exists, so its {given[0]} is not ours to say",
                got=f"existing and {', '.join(given)}",
                expected="one or the other",
                hint="take the figures away, or take `existing` away for a new file system",
            )


@rule("FSX003", remedy="put it in a site of kind aws", source="FSx is a service of AWS")
def fsx_is_in_the_cloud(subject: SpecSubject) -> Iterator[Breach]:
    """An FSx file system is in an AWS site."""
    for at, storage in _fsx(subject):
        site = subject.spec.sites.get(storage.site)
        if site is not None and not isinstance(site, AwsSite):
            yield Breach(
                at / "site",
                f"{storage.site} is no AWS site",
                got=f"{storage.site}, of kind {site.kind}",
                expected="a site of kind aws",
            )


@rule(
    "LUST001",
    remedy="name pools for both, or the `existing` file system",
    source="Lustre Operations Manual, 1.2: metadata and object servers",
)
def lustre_has_servers(subject: SpecSubject) -> Iterator[Breach]:
    """A Lustre file system has metadata and object servers, or it exists already."""
    for name, storage in subject.spec.storage.items():
        if not isinstance(storage, Lustre) or storage.existing is not None:
            continue
        missing = [key for key in ("mds", "oss") if not getattr(storage, key)]
        if missing:
            yield Breach(
                SpecPath() / "storage" / name,
                f"nobody serves {name}",
                got=f"no pool in {' and '.join(missing)}",
                expected="pools in mds and oss",
            )


@rule("MNT001", remedy="give one of them another mount", source="mount(8): a later mount hides what is there")
def mounts_hide_nothing(subject: SpecSubject) -> Iterator[Breach]:
    """No file system is mounted at, or inside, the mount of another on the same nodes."""
    mounted = [
        (name, storage)
        for name, storage in subject.spec.storage.items()
        if not isinstance(storage, NvmeOverFabrics)
    ]
    for (first_name, first), (name, storage) in combinations(mounted, 2):
        here, there = PurePosixPath(storage.mount), PurePosixPath(first.mount)
        shared = _sites(subject.spec, storage) & _sites(subject.spec, first)
        if shared and (here.is_relative_to(there) or there.is_relative_to(here)):
            yield Breach(
                SpecPath() / "storage" / name / "mount",
                f"{name} and {first_name} are mounted over one another in {', '.join(sorted(shared))}",
                got=f"{here}, where {first_name} is at {there}",
                expected="mounts that do not contain one another",
            )


def _sites(spec: ClusterSpec, storage: Lustre | LocalNvme | FsxLustre) -> set[str]:
    if isinstance(storage, LocalNvme):
        return {spec.pools[pool].site for pool in storage.pools if pool in spec.pools}
    return {storage.site}
