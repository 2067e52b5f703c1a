"""Rules on schedulers: whom they run on, and whom they reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.checks.pools import lost_pools
from rackwright.checks.registry import Breach, rule
from rackwright.findings import Level, SpecPath
from rackwright.spec.pools import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.checks.registry import SpecSubject
    from rackwright.spec.schedulers import Slurm
    from rackwright.spec.sites import Link


def _schedulers(subject: SpecSubject) -> Iterator[tuple[str, Slurm]]:
    """Those whose sites are all there; of others nothing can be said but that."""
    for name, scheduler in subject.spec.schedulers.items():
        if subject.spec.sites.keys() >= set(scheduler.sites):
            yield name, scheduler


def _has_role(subject: SpecSubject, scheduler: Slurm, role: Role) -> bool:
    """Whether a pool in the scheduler's sites has a role, or may have had before its site was lost."""
    here = (pool for pool in subject.spec.pools.values() if pool.site in scheduler.sites)
    return any(role in pool.roles for pool in (*here, *lost_pools(subject)))


@rule(
    "SLURM001",
    remedy="give the role slurm-controller to a pool of one of its sites",
    source="slurm.conf(5), SlurmctldHost: required",
)
def a_scheduler_has_a_controller(subject: SpecSubject) -> Iterator[Breach]:
    """A Slurm has a pool with the role slurm-controller in one of its sites."""
    for name, scheduler in _schedulers(subject):
        if not _has_role(subject, scheduler, Role.SLURM_CONTROLLER):
            yield Breach(
                SpecPath() / "schedulers" / name,
                f"nobody runs the controller of {name}",
                got=f"no pool of {', '.join(scheduler.sites)} has the role slurm-controller",
                expected="one",
            )


@rule(
    "SLURM002",
    level=Level.INFO,
    remedy="give the role login to a pool, so that users stay off the controller",
    source="practice: a process of a user on the controller's host can starve slurmctld",
)
def a_scheduler_has_login_nodes(subject: SpecSubject) -> Iterator[Breach]:
    """A Slurm has a pool with the role login in one of its sites."""
    for name, scheduler in _schedulers(subject):
        if not _has_role(subject, scheduler, Role.LOGIN):
            yield Breach(
                SpecPath() / "schedulers" / name,
                f"{name} has no login nodes",
                got=f"no pool of {', '.join(scheduler.sites)} has the role login",
                expected="one, where users log in",
            )


@rule(
    "SLURM003",
    remedy="add the pool's site to the scheduler, or take the pool out of the partition",
    source="slurm.conf(5): the controller and the nodes of a partition reach one another",
)
def partitions_stay_in_their_sites(subject: SpecSubject) -> Iterator[Breach]:
    """The pools of a partition are in the sites of its scheduler."""
    for name, scheduler in _schedulers(subject):
        for partition, part in scheduler.partitions.items():
            for index, pool_name in enumerate(part.pools):
                pool = subject.spec.pools.get(pool_name)
                if pool and pool.site in subject.spec.sites and pool.site not in scheduler.sites:
                    at = SpecPath() / "schedulers" / name / "partitions" / partition / "pools" / index
                    yield Breach(
                        at,
                        f"pool {pool_name} is in {pool.site}, where {name} does not schedule",
                        got=pool.site,
                        expected=f"a pool in {', '.join(scheduler.sites)}",
                    )


@rule(
    "SLURM004",
    remedy="add a link between the sites, or a scheduler for each",
    source="slurm.conf(5): slurmctld and slurmd open connections both ways",
)
def sites_of_a_scheduler_are_linked(subject: SpecSubject) -> Iterator[Breach]:
    """The sites of a scheduler are joined by links, directly or through one another."""
    if any(end not in subject.spec.sites for link in subject.spec.links.values() for end in link.between):
        return  # it may be the link that is missing
    for name, scheduler in _schedulers(subject):
        reached = _reached(scheduler.sites[0], subject.spec.links)
        for index, site in enumerate(scheduler.sites):
            if site not in reached:
                yield Breach(
                    SpecPath() / "schedulers" / name / "sites" / index,
                    f"{site} and {scheduler.sites[0]} are not linked, but {name} schedules in both",
                    got="no link",
                    expected=f"a link between {site} and a site that reaches {scheduler.sites[0]}",
                )


def _reached(start: str, links: Mapping[str, Link]) -> set[str]:
    """Sites that can be reached from one, itself included."""
    reached, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        ends = [end for link in links.values() if here in link.between for end in link.between]
        waiting += [end for end in ends if end not in reached]
        reached.update(ends)
    return reached
