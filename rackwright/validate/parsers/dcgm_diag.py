"""Output of ``dcgmi diag -j`` and ``dcgmi mndiag -j``: the word of each test on each entity.

``status`` is pass, fail, warn, skip or not_run; a pass with a warning is ``warn``, for DCGM has passed
what it could not do (DCGM#284), and a skipped test has tested nothing (DCGM#55).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.core import dcgm
from rackwright.validate.parsers.unread import strict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwright.validate.parsers.core.dcgm import Result

_LONGEST = 300
"""Of a warning, characters."""
_OF_LEVEL: Mapping[int, tuple[str, ...]] = {
    1: ("software",),
    2: ("pcie", "memory"),
    3: ("diagnostic", "memory_bandwidth", "targeted_stress", "targeted_power"),
    4: ("memtest",),
}
"""Tests that a level adds in DCGM 3 and 4 alike (DCGM user guide, dcgmi diag); a release may have more."""
_OLD_NAMES = {"gpu_memory": "memory"}


@strict
def parse(text: str) -> Iterator[Reading]:
    """Status of each test on each entity, and the ids of errors."""
    diagnosis = dcgm.read(text)
    for result in diagnosis.results:
        said: dict[str, str | int | float] = {
            "category": result.category.lower(),
            "test": result.test,
            "entity": result.group if result.entity is None else f"{result.group} {result.entity}",
            "dcgm": diagnosis.version,
            **_warned(result),
        }
        status = "warn" if result.status == "pass" and result.warnings else result.status
        yield Reading(name="status", value=status, unit=Unit.WORD, context=Context(parameters=said))


def lacking(level: int, readings: Iterable[Reading]) -> list[str]:
    """Tests of a level of which nothing is said, not even that they were skipped; in the words of DCGM 4."""
    told = {_canonical(str(one.context.parameters.get("test"))) for one in readings}
    if any(one.context.parameters.get("category") == _DEPLOYMENT for one in readings):
        told.add("software")
    return sorted({test for at, tests in _OF_LEVEL.items() if at <= level for test in tests} - told)


_DEPLOYMENT = "deployment"


def _canonical(name: str) -> str:
    word = name.strip().lower().replace(" ", "_")
    return _OLD_NAMES.get(word, word)


def _warned(result: Result) -> dict[str, str | int | float]:
    """The gravest warning, with how grave DCGM says it is; of several alike the one of the lowest id."""
    if not result.warnings:
        return {}
    gravest = max(result.warnings, key=lambda one: (_gravity(one.severity), -(one.error_id or 0)))
    said: dict[str, str | int | float] = {"warning": gravest.text[:_LONGEST]}
    if gravest.error_id is not None:
        said["error_id"] = gravest.error_id
    if gravest.severity is not None:
        said["severity"] = gravest.severity
    return said


_GRAVITY = (0, 1, 3, 5, 4, 6, 2)
"""Severities of dcgm_structs.h from least to most: none, monitor, unknown, config, triage, reset, isolate."""


def _gravity(severity: int | None) -> int:
    return _GRAVITY.index(severity) if severity in _GRAVITY else 0
