"""Open a cluster: the one place where a command reads spec, catalogue and lock, and plans."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.catalogue.load import Catalogue
from rackwright.catalogue.load import load as load_catalogue
from rackwright.checks.registry import PlanSubject, SpecSubject
from rackwright.checks.run import check
from rackwright.cli import emulated
from rackwright.errors import LockCorrupt, PlanStale, SpecInvalid
from rackwright.plan.build import build
from rackwright.plan.lock import parse, render
from rackwright.spec.load import LoadedSpec
from rackwright.spec.load import load as load_spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rackwright.findings import Finding
    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan


@dataclass(frozen=True, slots=True)
class Cluster:
    """A planned spec."""

    loaded: LoadedSpec
    catalogue: Catalogue
    plan: Plan
    lock: Lock
    lock_path: Path
    lock_changed: bool
    """Whether planning allocated, or gave up, what the lock on disk does not say."""
    findings: tuple[Finding, ...]
    """What the rules say that does not block: warnings, and errors that the spec suppresses."""

    def write_lock(self) -> None:
        """Put the lock beside its spec, if it has changed; `rackwright plan` alone does this."""
        if self.lock_changed:
            canonical.write_atomic(self.lock_path, render(self.lock))

    def refuse_stale(self) -> None:
        """Refuse to go on from a spec that was not planned as it stands.

        Raises:
            PlanStale: the lock on disk is not the one this plan needs.
        """
        if self.lock_changed:
            planned = self.lock_path.exists()
            raise PlanStale(
                f"the spec {'has changed since it' if planned else 'never'} was planned",
                where=str(self.lock_path),
                got="a spec or catalogue that would change the lock" if planned else "no lock",
                expected="the lock as `rackwright plan` wrote it",
                hint=f"rackwright plan {quote(str(self.loaded.path))}",
            )


def lock_path(spec: Path) -> Path:
    """``clusters/atlas.lock.yaml`` for ``clusters/atlas.yaml``."""
    return spec.with_name(f"{spec.stem}.lock.yaml")


def open_cluster(spec: Path, *, resize: bool = False) -> Cluster:
    """Read everything and plan; nothing is written.

    Args:
        spec: path of the spec.
        resize: whether cables between switches may move.

    Raises:
        SpecUnreadable: a file of the spec is missing, not readable, or not YAML.
        LockCorrupt: the lock is not as it was written, or another cluster's.
        CatalogueInvalid: a data file of the catalogue is spoiled.
        SpecInvalid: the spec breaks its schema or a rule, or cannot be planned.
    """
    with no_collections():
        cluster = _open(spec, resize=resize)
    emulated.enter(cluster.plan.cluster.name)
    return cluster


@contextmanager
def no_collections() -> Iterator[None]:
    """Spare the garbage collector a plan, which has no cycles and stays: it would double the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _open(spec: Path, *, resize: bool) -> Cluster:
    loaded = load_spec(spec)
    catalogue = load_catalogue()
    path = lock_path(spec)
    before = _read_lock(path, loaded)
    today = datetime.now(UTC).date()
    try:
        plan, lock = build(loaded, catalogue, before, resize=resize)
    except SpecInvalid as error:
        more = _blocking(check(SpecSubject(loaded, catalogue), today).findings)
        raise SpecInvalid(loaded.positions.locate([*error.findings, *more])) from None
    report = check(PlanSubject(loaded, catalogue, plan), today)
    if _blocking(report.findings):
        raise SpecInvalid(_blocking(report.findings))
    return Cluster(loaded, catalogue, plan, lock, path, lock_changed=lock != before, findings=report.findings)


def plan_of(loaded: LoadedSpec, catalogue: Catalogue) -> Plan:
    """The plan of a loaded spec with the lock beside it.

    Raises:
        LockCorrupt: the lock is not as it was written, or another cluster's.
        SpecInvalid: the spec cannot be planned; its findings have no places.
    """
    return build(loaded, catalogue, _read_lock(lock_path(loaded.path), loaded))[0]


def _blocking(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.blocks]


def _read_lock(path: Path, loaded: LoadedSpec) -> Lock | None:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise LockCorrupt("the lock is no text", where=str(path), got=str(error)) from None
    lock = parse(text, path)
    if lock.cluster != loaded.spec.cluster.name:
        raise LockCorrupt(
            "the lock is another cluster's",
            where=str(path),
            got=lock.cluster,
            expected=loaded.spec.cluster.name,
            hint="give the spec a file name of its own; a cluster is never renamed",
        )
    return lock
