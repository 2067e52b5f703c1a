"""Rules on scratch on nodes' own drives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.checks.registry import Breach, rule
from rackwright.findings import SpecPath
from rackwright.spec.storage import LocalNvme

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.checks.registry import SpecSubject


@rule("LOCAL001", remedy="keep one of them", source="one volume over all of a node's drives")
def pools_have_one_scratch(subject: SpecSubject) -> Iterator[Breach]:
    """A pool has one scratch on its own drives."""
    seen: dict[str, str] = {}
    for name, storage in subject.spec.storage.items():
        for index, pool in enumerate(storage.pools if isinstance(storage, LocalNvme) else ()):
            first = seen.setdefault(pool, name)
            if first != name:
                yield Breach(
                    SpecPath() / "storage" / name / "pools" / index,
                    f"{pool} has scratch already",
                    got=f"{pool}, as in {first}",
                    expected="a pool without",
                )


@rule(
    "LOCAL002",
    remedy="leave Epilog to the plan, or take wipe_after_job away and delete there",
    source="slurm.conf(5): Epilog",
)
def wiping_has_the_epilog(subject: SpecSubject) -> Iterator[Breach]:
    """Where scratch is wiped after a job, no scheduler of its pools states an epilog of its own."""
    wiped = {
        pool
        for storage in subject.spec.storage.values()
        if isinstance(storage, LocalNvme) and storage.wipe_after_job
        for pool in storage.pools
    }
    for name, scheduler in subject.spec.schedulers.items():
        pools = {pool for partition in scheduler.partitions.values() for pool in partition.pools}
        for key, value in scheduler.settings.items():
            if key.lower() == "epilog" and pools & wiped:
                yield Breach(
                    SpecPath() / "schedulers" / name / "settings" / key,
                    "scratch would not be wiped",
                    got=str(value),
                    expected="no Epilog",
                )
