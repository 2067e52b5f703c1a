"""Scratch on nodes' own drives: storage of a spec in, what each pool has out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.plan.local_nvme_model import LocalScratch
from rackwright.spec.storage import LocalNvme

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwright.spec.cluster import ClusterSpec

EPILOG = "/etc/slurm/epilog.d/*"
"""What Slurm runs on a node at a job's end; a node on which nothing matches runs nothing (glob(7))."""


def local_nvme(spec: ClusterSpec) -> dict[str, LocalScratch]:
    """Pool → its scratch; a pool has one (LOCAL001)."""
    return {
        pool: LocalScratch(
            storage=name,
            mount=storage.mount,
            layout=storage.layout,
            file_system=storage.file_system,
            devices=tuple(storage.devices),
            wipe_after_job=storage.wipe_after_job,
        )
        for name, storage in sorted(spec.storage.items())
        if isinstance(storage, LocalNvme)
        for pool in sorted(storage.pools)
        if pool in spec.pools
    }


def epilog(spec: ClusterSpec, pools: Iterable[str]) -> dict[str, str]:
    """Key of slurm.conf by which scratch of any of these pools is wiped at a job's end."""
    scratch = local_nvme(spec)
    wiped = any(scratch[pool].wipe_after_job for pool in pools if pool in scratch)
    return {"Epilog": EPILOG} if wiped else {}
