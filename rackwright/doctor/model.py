"""The ground that is examined, a check, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rackwright.errors import PlanStale
    from rackwright.lack import Lack
    from rackwright.plan.model import Plan
    from rackwright.provision.places import Folders


@dataclass(frozen=True, slots=True)
class Ground:
    """What is examined.

    Args:
        plan: of the spec as it stands.
        folders: of the spec, and of the cluster's state.
        runs: where evidence will be written.
        stale: why the plan may not be used; None where it may.
    """

    plan: Plan
    folders: Folders
    runs: Path
    stale: PlanStale | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at.

    Args:
        name: stable.
        find: what is lacking there; its docstring says what is meant to be so.
        needs: checks without whose success this one cannot tell.
    """

    name: str
    find: Callable[[Ground], Iterable[Lack]]
    needs: tuple[str, ...] = ()

    @property
    def means(self) -> str:
        """What is meant to be so."""
        return (self.find.__doc__ or "").splitlines()[0].rstrip(".")


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a check.

    Args:
        check: the check.
        lacks: what it found.
        not_run: the check whose failure left this one undone; empty if it was done.
    """

    check: Check
    lacks: tuple[Lack, ...] = ()
    not_run: str = ""

    @property
    def good(self) -> bool:
        """Whether what needs this can go on."""
        return not self.not_run and not any(lack.blocks for lack in self.lacks)


def examine(checks: Iterable[Check], ground: Ground) -> list[Result]:
    """Run every check whose needs are met, in the order of the table."""
    results: dict[str, Result] = {}
    for check in checks:
        lacking = next((need for need in check.needs if not results[need].good), "")
        results[check.name] = Result(check, () if lacking else tuple(check.find(ground)), lacking)
    return list(results.values())
