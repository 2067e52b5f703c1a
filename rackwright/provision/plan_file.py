"""`plan.json` in, the plan out: read whole, or refused with what writes it anew.

A run goes on for minutes, and its file is read again and again, by programs and plugins that the
engine starts. Another command may write another plan meanwhile, so each run of ours tells them by
hash which one it was begun with. A plain `pulumi` tells none: they take the plan that is there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pydantic import ValidationError

from rackwright import canonical
from rackwright.errors import PlanStale, UsageError
from rackwright.plan.model import Plan

if TYPE_CHECKING:
    from pathlib import Path

BEGUN_WITH = "RACKWRIGHT_PLAN_SHA256"
"""Variable of the engine's environment: hash of the plan that its run was begun with."""


def begun_with(plan: Plan) -> dict[str, str]:
    """What tells the engine's programs and plugins of a run's plan: to be added to its environment."""
    return {BEGUN_WITH: canonical.sha256(canonical.dumps(plan))}


def read(path: Path) -> Plan:
    """The plan of a file.

    Raises:
        UsageError: it is not there, cut, or of another release.
    """
    return _read(path)[0]


def read_of_run(path: Path) -> Plan:
    """The plan of a file, for a process that a run has started.

    Raises:
        UsageError: it is not there, cut, or of another release.
        PlanStale: it is not the one that the run was begun with.
    """
    plan, got = _read(path)
    wanted = os.environ.get(BEGUN_WITH, got)
    if got != wanted:
        raise PlanStale(
            "another command has written another plan since this run began",
            code="PLAN003",
            where=str(path),
            got=f"sha256 {got}",
            expected=f"sha256 {wanted}",
            hint="rackwright preview SPEC shows what the plan is now, and the same command goes on by it",
        )
    return plan


def _read(path: Path) -> tuple[Plan, str]:
    """A file's plan, and its hash."""
    try:
        raw = path.read_bytes()
        return Plan.model_validate_json(raw), canonical.sha256(raw)
    except (OSError, ValidationError) as error:
        raise UsageError(
            "this is no plan of this release",
            code="PLAN002",
            where=str(path),
            got=_fault(error),
            expected="plan.json as `rackwright plan` writes it",
            hint="rackwright plan SPEC writes it anew",
        ) from None


def _fault(error: OSError | ValidationError) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'document'}: {first['msg']}"
