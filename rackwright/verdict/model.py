"""Verdicts: four values, a subject each, with reasons that lead back to the evidence."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model
from rackwright.validate.model import Artefact, Measurement, Unit

SCHEMA: Literal["rackwright/verdict/1"] = "rackwright/verdict/1"


class Value(StrEnum):
    """The four values of a verdict."""

    PASS = "PASS"  # noqa: S105 (a verdict)
    FAIL = "FAIL"
    ERROR = "ERROR"
    """Could not be measured."""
    NOT_RUN = "NOT_RUN"
    """Asked for, but not measured or not judged."""


class Kind(StrEnum):
    """What a subject is."""

    SITE = "site"
    LINK = "link"
    """Between two sites."""
    PARTITION = "partition"
    """Of Slurm; a subject where a run is of several."""
    NODE = "node"
    RAIL = "rail"
    """A node's port on one rail."""


class Reason(Model):
    """Why a subject has its verdict: one criterion that was applied to it."""

    criterion: str
    """Name of the criterion: ``pair-bandwidth``."""
    value: Value
    cause: str
    """One sentence, what was found: ``r1 is slow to both of its partners``."""
    measured: float | int | str | bool | None = None
    expected: str = ""
    """In words and figures: ``at least 75 mbit_s``."""
    unit: Unit | None = None
    provenance: str = ""
    """Of the expectation, with its source."""
    action: str = ""
    """What to do next, for a person; empty where nothing is to be done."""
    explained_by: str = ""
    """Subject whose fault is also the reason for this one."""
    evidence: tuple[Artefact, ...] = ()


class Subject(Model):
    """One thing that was asked about."""

    name: str
    """``hall``, ``node-002``, ``node-002/r1``."""
    kind: Kind
    verdict: Value
    reasons: tuple[Reason, ...]
    measurements: tuple[Measurement, ...] = ()
    """Those that the reasons rest on, and those that nothing judges."""


class Verdict(Model):
    """The answer of a run."""

    schema_: Annotated[Literal["rackwright/verdict/1"], Field(alias="schema")] = SCHEMA
    cluster: str
    suite: str
    started: str
    verdict: Value
    subjects: tuple[Subject, ...]
    """Worst first; of equals those that are themselves at fault first, then by kind and name."""
    not_applicable: dict[str, str]
    not_judged: dict[str, str]
    """Measurement → why nothing judges it: nobody published or measured a figure."""
    held: dict[str, str]
