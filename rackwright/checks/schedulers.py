"""Rules on schedulers: whom they run on, and whom they reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.catalogue.slurm import SlurmTable
from rackwright.catalogue.slurm_keys import judge
from rackwright.checks.pools import lost_pools
from rackwright.checks.registry import Breach, plan_rule, rule
from rackwright.findings import Level, SpecPath
from rackwright.plan.slurm import pools_of, release
from rackwright.plan.slurm_settings import PLANNED
from rackwright.spec.pools import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.catalogue.slurm import Slurm as Release
    from rackwright.checks.registry import PlanSubject, SpecSubject
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


@plan_rule(
    "SLURM008",
    remedy="give each scheduler pools and sites of its own",
    source="slurm.conf(5): slurmctld and slurmd of a host serve one ClusterName",
)
def a_host_is_in_one_slurm(subject: PlanSubject) -> Iterator[Breach]:
    """No host runs daemons of two Slurms."""
    taken: dict[str, str] = {}
    for name, slurm in subject.plan.slurm.items():
        hosts = [slot for nodes in slurm.pools.values() for slot in (*nodes.nodes, *nodes.burst)]
        mine = {*hosts, *slurm.controllers, *([slurm.accounting] if slurm.accounting else [])}
        both = sorted(slot for slot in mine if slot in taken)
        if both:
            yield Breach(
                SpecPath() / "schedulers" / name,
                f"hosts of {name} are in another Slurm too",
                got=f"{both[0]} is in {taken[both[0]]}{f', as are {len(both) - 1} more' if both[1:] else ''}",
                expected="hosts that no other scheduler has",
            )
        taken.update(dict.fromkeys(mine, name))


@rule(
    "SLURM009",
    remedy="write a key of slurm.conf(5) of that release",
    source="catalogue, slurm: keys that each release's own parser takes",
)
def settings_are_keys_of_the_release(subject: SpecSubject) -> Iterator[Breach]:
    """Every setting of a scheduler is a key of slurm.conf that its release knows."""
    for name, scheduler in subject.spec.schedulers.items():
        for known in _releases(subject, scheduler):
            for key in scheduler.settings:
                fault = judge(known.keys[SlurmTable.CONF], key)
                if fault:
                    yield Breach(
                        SpecPath() / "schedulers" / name / "settings" / key,
                        f"Slurm {known.name} would not start with {key}",
                        got=f"{key}, {fault.problem}",
                        expected=f"a key of slurm.conf of {known.name}",
                        hint=fault.hint,
                    )


def _releases(subject: SpecSubject, scheduler: Slurm) -> list[Release]:
    """Releases of a scheduler's hosts that the catalogue knows: one, in a spec that can be planned."""
    pools = (subject.spec.pools[name] for name in pools_of(subject.spec, scheduler))
    names = {release(subject.spec, subject.catalogue, pool) for pool in pools}
    return [known for name, known in subject.catalogue.slurm.items() if name in names]


@rule(
    "SLURM010",
    remedy="take it away; where the plan is wrong, change what it is made from",
    source="roles, checks and proofs rely on what the plan writes",
)
def settings_leave_the_plan_alone(subject: SpecSubject) -> Iterator[Breach]:
    """No setting of a scheduler is a key that the plan writes."""
    planned = {key.lower(): key for key in PLANNED}
    for name, scheduler in subject.spec.schedulers.items():
        for key, value in scheduler.settings.items():
            if key.lower() in planned:
                yield Breach(
                    SpecPath() / "schedulers" / name / "settings" / key,
                    f"the plan writes {planned[key.lower()]} itself",
                    got=f"{key}: {value}",
                    expected="a key that the plan does not write",
                )


@rule(
    "SLURM011",
    level=Level.WARNING,
    remedy="give the role slurmdbd to a pool of one of its sites",
    source="slurm.conf(5), PreemptType: preempt/qos needs accounting_storage/slurmdbd",
)
def a_scheduler_has_a_database(subject: SpecSubject) -> Iterator[Breach]:
    """A Slurm has a pool with the role slurmdbd: without it, no QOS holds and no job is remembered."""
    for name, scheduler in _schedulers(subject):
        if not _has_role(subject, scheduler, Role.SLURMDBD):
            yield Breach(
                SpecPath() / "schedulers" / name,
                f"{name} has no accounting: no QOS, no preemption, no sacct",
                got=f"no pool of {', '.join(scheduler.sites)} has the role slurmdbd",
                expected="one",
            )


@plan_rule(
    "SLURM012",
    level=Level.WARNING,
    remedy="add cpus and memory_mib to its catalogue entry; `slurmd -C` on such a node tells them",
    source="slurm.conf(5), CPUs and RealMemory: 1 where nothing else is stated",
)
def nodes_have_processors_and_memory(subject: PlanSubject) -> Iterator[Breach]:
    """The platform of every partition's pools states its processors and its memory."""
    for slurm in subject.plan.slurm.values():
        for pool, nodes in slurm.pools.items():
            missing = [key for key in ("cpus", "memory_mib") if getattr(nodes, key) is None]
            if missing:
                yield Breach(
                    SpecPath() / "pools" / pool / "platform",
                    f"Slurm gives jobs 1 of what the nodes of {pool} have",
                    got=f"{subject.plan.pools[pool].platform} without {' and '.join(missing)}",
                    expected="cpus and memory_mib with their source",
                )


@plan_rule(
    "SLURM013",
    level=Level.INFO,
    remedy="put state_folder below the mount of a file system that all of them have",
    source="slurm.conf(5), SlurmctldHost: backups read and write the StateSaveLocation of the primary",
)
def controllers_share_their_state(subject: PlanSubject) -> Iterator[Breach]:
    """Where several hosts have the role slurm-controller, they share a state folder and all are used."""
    for name, slurm in subject.plan.slurm.items():
        able = [
            slot
            for pool in subject.plan.pools.values()
            if pool.site in subject.spec.schedulers[name].sites and Role.SLURM_CONTROLLER in pool.roles
            for slot in pool.slots
        ]
        if len(able) > len(slurm.controllers):
            yield Breach(
                SpecPath() / "schedulers" / name,
                f"{slurm.controllers[0]} alone runs slurmctld: nobody else could take over its jobs",
                got=f"{slurm.state_folder}, on each host's own disk",
                expected=f"a folder that all {len(able)} hosts share",
            )


@rule(
    "SLURM014",
    level=Level.WARNING,
    remedy="add the keys of that release to the catalogue, from its own parser or manual pages",
    source="an unknown key keeps every daemon of a Slurm from starting",
)
def the_release_is_known(subject: SpecSubject) -> Iterator[Breach]:
    """The catalogue knows the keys of every Slurm's release."""
    for name, scheduler in subject.spec.schedulers.items():
        for pool_name in pools_of(subject.spec, scheduler):
            pool = subject.spec.pools[pool_name]
            found = release(subject.spec, subject.catalogue, pool)
            if found is not None and found not in subject.catalogue.slurm:
                yield Breach(
                    SpecPath() / "images" / pool.image / "slurm",
                    f"nobody checks the keys of the files of {name}: their release is not known",
                    got=found,
                    expected=f"one of {', '.join(subject.catalogue.slurm)}",
                )
                break


@rule(
    "SLURM015",
    remedy="leave `default: true` with one of them",
    source="slurm.conf(5), Default: the last one named wins, and nobody is told",
)
def one_partition_is_the_default(subject: SpecSubject) -> Iterator[Breach]:
    """At most one partition of a Slurm is its default."""
    for name, scheduler in subject.spec.schedulers.items():
        defaults = [partition for partition, part in scheduler.partitions.items() if part.default]
        for partition in defaults[1:]:
            yield Breach(
                SpecPath() / "schedulers" / name / "partitions" / partition / "default",
                f"{name} has several default partitions",
                got=", ".join(defaults),
                expected="one",
            )


@rule(
    "SLURM016",
    remedy="give it a higher priority than those it preempts",
    source="slurm.conf(5), preempt/qos: two that preempt each other requeue each other's jobs for ever",
)
def a_qos_preempts_lower_ones(subject: SpecSubject) -> Iterator[Breach]:
    """A QOS preempts only QOS of lower priority."""
    for name, scheduler in subject.spec.schedulers.items():
        for qos_name, qos in scheduler.qos.items():
            for index, victim in enumerate(qos.preempts):
                other = scheduler.qos.get(victim)
                if other and other.priority >= qos.priority:
                    yield Breach(
                        SpecPath() / "schedulers" / name / "qos" / qos_name / "preempts" / index,
                        f"{qos_name} preempts {victim}, which is not below it",
                        got=f"{victim} at {other.priority}, {qos_name} at {qos.priority}",
                        expected=f"a QOS of a priority below {qos.priority}",
                    )


@rule(
    "SLURM017",
    remedy="make a partition of each site; a job over both is a heterogeneous one: `sbatch -p A : -p B`",
    source="topology.conf(5), tree: switches of two sites have none in common, so no job spans them",
)
def a_partition_is_in_one_site(subject: SpecSubject) -> Iterator[Breach]:
    """All pools of a partition are in one site."""
    for name, scheduler in _schedulers(subject):
        for partition, part in scheduler.partitions.items():
            pools = [subject.spec.pools[pool] for pool in part.pools if pool in subject.spec.pools]
            sites = sorted({pool.site for pool in pools if pool.site in scheduler.sites})
            if len(sites) > 1:
                yield Breach(
                    SpecPath() / "schedulers" / name / "partitions" / partition / "pools",
                    f"partition {partition} has nodes of several sites",
                    got=", ".join(sites),
                    expected="one site",
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
