"""What is asked in, a run folder out: a job is had, the suite is made in it, and all is written down."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.catalogue.model import Check
from rackwright.errors import EnvironmentUnfit, Interrupted, refused
from rackwright.plan.model import AwsSitePlan
from rackwright.validate import slurm
from rackwright.validate.allocation import NotCancelled, Wish, allocated, minutes, release
from rackwright.validate.course import Course, Job
from rackwright.validate.evidence import Evidence
from rackwright.validate.model import Artefact, Rail, Run
from rackwright.validate.resume import alone_in, cut_off, taken_up
from rackwright.validate.steps import Ground, batches, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from rackwright.plan.model import Plan, PoolPlan
    from rackwright.validate.allocation import Allocation
    from rackwright.validate.asked import Asked, Part
    from rackwright.validate.expectations import Expectations
    from rackwright.validate.history import History
    from rackwright.validate.ssh import Controller
    from rackwright.validate.suite import AnyCheck, Suite

_WHY: dict[str, str] = {Check.LINK: "no link of the plan joins sites of these nodes"}
_STAMP = "%Y-%m-%dT%H%M%SZ"
_TO_BE_WRITTEN = Artefact(path="expectations.json", sha256="0" * 64)


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be validated.

    Args:
        plan: of the cluster.
        plan_sha256: of its canonical text.
        asked: nodes and checks.
        suite: of checks.
        expectations: what the plan lets one expect of these nodes.
        folder: of the run; None for a new one below `runs`.
        runs: folder of all runs of the cluster.
        images: image → what the spec says is in it.
        machines: slot → serial number or instance of what fills it.
        history: what earlier runs said of these nodes; a run that is resumed has its own.
        resume: go on with the run of `folder`.
    """

    plan: Plan
    plan_sha256: str
    asked: Asked
    suite: Suite
    expectations: Expectations
    folder: Path | None
    runs: Path
    images: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    machines: Mapping[str, str] = field(default_factory=dict)
    history: History | None = None
    resume: bool = False

    @property
    def checks(self) -> tuple[AnyCheck, ...]:
        """Checks of the suite that any of the nodes is proven by."""
        return self._of(self.asked.checks)

    def checks_of(self, part: Part) -> tuple[AnyCheck, ...]:
        """Checks of the suite that are made of the nodes of a part, which are alike in them."""
        return self._of(self.asked.nodes[part.nodes[0]].checks)

    def _of(self, declared: Collection[str]) -> tuple[AnyCheck, ...]:
        return tuple(check for check in self.suite.checks if check.check in declared)

    @property
    def gone(self) -> set[str]:
        """Nodes that no job is asked for."""
        return {*self.asked.held, *self.asked.missing, *self.asked.lost}

    @property
    def not_applicable(self) -> dict[str, str]:
        """The others, with the reason."""
        applying = {check.check for check in self.checks}
        return {
            check.check: _WHY.get(check.check, "the platform of these nodes does not declare it")
            for check in self.suite.checks
            if check.check not in applying
        }

    @property
    def not_declared(self) -> dict[str, tuple[str, ...]]:
        """Check of these → nodes that are not proven by it, where others are."""
        without = {check.check: self.asked.not_proven_by(check.check) for check in self.checks}
        return {check: names for check, names in without.items() if names}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a suite takes on some nodes."""

    steps: int
    about_s: float
    longest_s: float
    """If every step took as long as it may."""


def estimate(order: Order, part: Part, names: Iterable[str]) -> Estimate:
    """What the suite takes on nodes of a part, batch by batch."""
    nodes = [order.asked.nodes[name] for name in names]
    ground = Ground(nodes, mpi=order.suite.mpi, ways=order.asked.ways)
    checks = in_order(order.checks_of(part)) if ground.nodes else ()
    made = [(check, list(batches(check, ground))) for check in checks]
    return Estimate(
        steps=sum(len(batch) for _, of_check in made for batch in of_check),
        about_s=sum(check.settle_s + check.about_s * len(of_check) for check, of_check in made),
        longest_s=sum(check.settle_s + check.limit_s * len(of_check) for check, of_check in made),
    )


def validate(order: Order, controller: Controller, tell: Callable[[str], None]) -> Evidence:
    """Make the suite on all nodes that can be had; of a run that is resumed, what it does not have yet.

    Raises:
        EnvironmentUnfit: Slurm does not answer; nothing was written.
        ControllerLost: it went away on the way; the run folder holds what was made until then.
        UsageError: the folder holds another run.
        EvidenceSpoiled: what is there of a run that is to go on is not as it was.
        Interrupted: by a signal, within `stoppable`.
    """
    slurm.nodes(controller)  # before a folder is made: nobody wants an empty one
    now = datetime.now(UTC)
    wanted = _run(order, now)
    _tell_of_cut_off(order, wanted, tell)
    folder = order.folder or order.runs / now.strftime(_STAMP)
    if not order.resume:
        folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder):
        if order.resume:
            evidence = taken_up(folder, wanted, _rfc3339(now))
        else:
            evidence = Evidence.begin(folder, wanted, order.expectations, order.history)
        with _telling_the_way_on(evidence):
            _make_parts(order, evidence, controller, tell)
            evidence.write(finished=_rfc3339(datetime.now(UTC)))
    return evidence


@contextmanager
def _telling_the_way_on(evidence: Evidence) -> Iterator[None]:
    """Say how a run goes on that is cut off within it."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise _stopped(evidence, stop) from None
    except BrokenPipeError:  # of who was told: nobody reads on
        raise
    except OSError as error:
        raise refused(error, f"put that right; then {_way_on(evidence)}") from error
    except EnvironmentUnfit as error:
        error.hint = f"{error.hint}; then {_way_on(evidence)}" if error.hint else _way_on(evidence)
        raise


def _way_on(evidence: Evidence) -> str:
    return f"the same command with `--resume {evidence.folder}` goes on from there"


def _tell_of_cut_off(order: Order, wanted: Run, tell: Callable[[str], None]) -> None:
    """Say which run could be gone on with, to who begins another one."""
    there = None if order.folder else cut_off(order.runs, wanted)
    if there:
        folder, run = there
        tell(f"{folder} was cut off after {len(run.steps)} steps: `--resume {folder}` would go on with it")


def _make_parts(
    order: Order, evidence: Evidence, controller: Controller, tell: Callable[[str], None]
) -> None:
    parts = {part: _to_measure(order, part, evidence.run) for part in order.asked.parts}
    _announce(order, parts, evidence, tell)
    for part, names in parts.items():
        _measure(order, part, names, evidence, controller=controller, tell=tell)


def _to_measure(order: Order, part: Part, run: Run) -> list[str]:
    """Nodes of a part of which nothing speaks against a job; none where no check would be made in it."""
    if not order.checks_of(part):
        return []
    left = {node.name for node in order.asked.without({*order.gone, *run.held, *run.lost})}
    return [name for name in part.nodes if name in left]


def _announce(
    order: Order, parts: Mapping[Part, list[str]], evidence: Evidence, tell: Callable[[str], None]
) -> None:
    expected = [estimate(order, part, names) for part, names in parts.items()]
    tell(
        f"{order.suite.name}: about {sum(one.about_s for one in expected):.0f} s for "
        f"{sum(one.steps for one in expected)} steps on {sum(map(len, parts.values()))} of "
        f"{len(order.asked.nodes)} nodes; evidence in {evidence.folder}"
    )
    if evidence.run.resumed:
        tell(f"{len(evidence.run.steps)} steps are there from before {evidence.run.resumed[-1]}")


def _measure(  # noqa: PLR0913 (a job is had, and the suite made in it)
    order: Order,
    part: Part,
    names: list[str],
    evidence: Evidence,
    *,
    controller: Controller,
    tell: Callable[[str], None],
) -> None:
    """Have a job on the nodes of a part, and make the suite in it."""

    def course(job: Job) -> Course:
        return Course(order.asked, order.checks_of(part), order.suite, controller, job, evidence, tell)

    longest_s = estimate(order, part, names).longest_s
    wish = Wish(
        name=f"rackwright-{order.suite.name}-{part.partition}-{_called(evidence)}",
        partition=part.partition,
        start_within_s=order.suite.start_within_s + part.launched_within_s,
        most_minutes=minutes(longest_s + part.launched_within_s, part.most_hours),
        on_demand=part.on_demand,
    )
    if evidence.run.resumed:
        release(controller, wish.name)  # who was killed could not, not even after the last step
        if course(Job(0, tuple(names), lambda: True)).is_made():
            return
    with allocated(controller, wish, names, tell) as allocation:
        _note(order, evidence, allocation, tell)
        if allocation.job is not None:
            job = Job(allocation.job, allocation.nodes, lambda: release(controller, wish.name))
            _make(course(job))


def _called(evidence: Evidence) -> str:
    """A run's name among all of a login user: folders of two may be called the same."""
    name, stamp = evidence.folder.name, datetime.fromisoformat(evidence.run.started).strftime(_STAMP)
    return name if name == stamp else f"{name}-{stamp}"


def unjudged(folder: Path) -> Interrupted:
    """A run that was stopped after its last step."""
    return Interrupted(
        "stopped: all is measured and kept, and nothing is judged yet",
        where=str(folder),
        hint=f"`rackwright judge {folder}` judges it",
    )


def _stopped(evidence: Evidence, stop: KeyboardInterrupt) -> Interrupted:
    if evidence.run.finished:
        evidence.write()  # it may have been stopped in the midst of that
        return unjudged(evidence.folder)
    job, way_on = "the job is cancelled", _way_on(evidence)
    if isinstance(stop, NotCancelled):
        job = f"{stop.job} could not be cancelled and may still run"
        way_on = f"once Slurm answers, {stop.remedy}; {way_on}, and cancels it first"
    return Interrupted(
        f"stopped: {job}, and what was measured until then is kept",
        where=str(evidence.folder),
        got=f"{len(evidence.run.steps)} steps that have ended",
        hint=f"{way_on}; `rackwright judge {evidence.folder}` tells of what there is",
    )


def _note(order: Order, evidence: Evidence, allocation: Allocation, tell: Callable[[str], None]) -> None:
    """Write down what came of the wish for nodes."""
    run = evidence.run
    held = {**run.held, **order.asked.held, **allocation.held}
    lost = {**run.lost, **order.asked.lost, **allocation.lost}
    jobs = run.job_ids if allocation.job is None else (*run.job_ids, allocation.job)
    new = {name: why for name, why in {**held, **lost}.items() if name not in {**run.held, **run.lost}}
    evidence.write(held=held, lost=lost, job_ids=jobs)
    for name, why in sorted(new.items()):
        tell(f"{name}: {'held' if name in held else 'lost'}: {why}")


def _make(course: Course) -> None:
    """Make the suite; who was lost on the way is written down, however it ends."""
    try:
        course.run()
    finally:
        course.evidence.write(lost={**course.evidence.run.lost, **course.lost})


def _run(order: Order, now: datetime) -> Run:
    nodes = order.asked.nodes.values()
    sites: dict[str, list[str]] = {}
    for node in nodes:
        sites.setdefault(node.site, []).append(node.name)
    return Run(
        cluster=order.plan.cluster.name,
        suite=order.suite.name,
        suite_sha256=canonical.sha256(canonical.dumps(order.suite)),
        plan_sha256=order.plan_sha256,
        started=_rfc3339(now),
        sites={site: tuple(sorted(names)) for site, names in sorted(sites.items())},
        site_kinds={
            site: "aws" if isinstance(order.plan.sites[site], AwsSitePlan) else "onprem" for site in sites
        },
        racks=_racks(order),
        platforms=_slots_by(order, lambda _, pool: pool.platform),
        pools=_slots_by(order, lambda name, _: name),
        machines={name: order.machines[name] for name in order.asked.nodes if order.machines.get(name)},
        images={
            name: dict(order.images.get(name, {})) for name in _slots_by(order, lambda _, pool: pool.image)
        },
        rails=tuple(
            Rail(node=node.name, fabric=port.fabric, rail=port.rail, interface=port.interface)
            for node in nodes
            for port in node.ports
        ),
        checks=tuple(check.check for check in order.checks),
        together=tuple(check.check for check in order.checks if getattr(check, "at_once", 1) > 1),
        not_applicable=order.not_applicable,
        not_declared=order.not_declared,
        links={way.link: way.between for way in order.asked.ways},
        partitions=_partitions(order.asked.parts),
        missing=dict(order.asked.missing),
        expectations=_TO_BE_WRITTEN,
    )


def _partitions(parts: Iterable[Part]) -> dict[str, tuple[str, ...]]:
    """Partition → its slots that are asked for, in one job or in several."""
    found: dict[str, list[str]] = {}
    for part in parts:
        found.setdefault(part.partition, []).extend(part.nodes)
    return {name: tuple(sorted(slots)) for name, slots in found.items()}


def _slots_by(order: Order, of: Callable[[str, PoolPlan], str]) -> dict[str, tuple[str, ...]]:
    """What a pool, by its name, has of a kind → its slots that are asked for."""
    found: dict[str, list[str]] = {}
    for pool_name, pool in order.plan.pools.items():
        names = [name for name in pool.slots if name in order.asked.nodes]
        if names:
            found.setdefault(of(pool_name, pool), []).extend(names)
    return {name: tuple(sorted(slots)) for name, slots in sorted(found.items())}


def _racks(order: Order) -> dict[str, dict[str, tuple[str, ...]]]:
    """Site → rack → its slots that are asked for."""
    found: dict[str, dict[str, list[str]]] = {}
    for pool in order.plan.pools.values():
        for slot in pool.slots.values():
            if slot.position is not None and slot.name in order.asked.nodes:
                racks = found.setdefault(pool.site, {})
                racks.setdefault(slot.position.rack, []).append(slot.name)
    return {
        site: {rack: tuple(sorted(names)) for rack, names in sorted(racks.items())}
        for site, racks in sorted(found.items())
    }


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
