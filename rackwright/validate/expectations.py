"""What one may expect of a measurement, each figure with where it comes from."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rackwright import canonical
from rackwright.spec.base import Model
from rackwright.validate.model import Artefact, Unit

SCHEMA: Literal["rackwright/expectations/1"] = "rackwright/expectations/1"


class Provenance(StrEnum):
    """How a figure came to us."""

    PLAN = "plan"
    """Computed from the plan: the rate a link is built for."""
    LEARNED = "learned"
    """Computed by `expect learn` from a fleet, whose evidence it names."""
    MEASURED = "measured"
    PUBLISHED = "published"
    VENDOR = "vendor"
    OPERATOR = "operator"
    DEFINED = "defined"
    """What right means: no wrong element, no failure."""


class Key(Model):
    """Which measurements an expectation is for; None stands for any, an empty text for none."""

    name: str
    """Of the measurement: ``busbw``."""
    check: str
    platform: str | None = None
    """Of the node, or of all nodes that took part."""
    pool: str | None = None
    """Of these too, where pools of one platform differ in what the value is about."""
    collective: str | None = None
    algorithm: str | None = None
    size_bytes: int | None = None
    fabric: str | None = None
    rails: int | None = None
    """How many rails the measurement went over."""
    ranks: int | None = None
    """How many ranks took part."""
    link: str | None = None
    pattern: str | None = None
    """Data the tool worked on."""
    parameters: dict[str, str | int | float] = {}
    """Of the tool, each as it was read: ``{order: 768}``, ``{counter: symbol_error}``."""
    versions: dict[str, str] = {}
    """Of what is in the image of all nodes, as the spec says it: ``{kernel: "6.8", nccl: "2.26"}``."""

    @property
    def identity(self) -> str:
        """A text that is the same for equal keys, whatever the order of their parameters."""
        return canonical.dumps(self)


class Learned(Model):
    """What a figure was computed from."""

    subjects: Annotated[int, Field(ge=1)]
    median: float
    mad: float
    """Median of the absolute deviations from the median."""
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    """Of the youngest run."""
    values: dict[str, float]
    """Subject → its value, the median of its own where it has several."""
    evidence: tuple[Artefact, ...]
    """Files that hold the values, by run folder and hash."""


class Expectation(Model):
    """A bound on one side, or the words that are right."""

    key: Key
    unit: Unit
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] = ()
    """For values that are words."""
    nominal: float
    """The figure the bound was derived from, in the same unit: the rate of the link."""
    provenance: Provenance
    source: str
    """In words, for the reader of a report: ``0.7 of the planned 100 Mbit/s``."""
    date: str = ""
    """Of the source, or when it was read; empty for what the plan says, which is as old as its run."""
    learned: Learned | None = None

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        numbers = self.at_least is not None or self.at_most is not None
        if numbers == bool(self.one_of):
            msg = "an expectation has a bound, or the words that are right, and not both"
            raise ValueError(msg)
        return self


class Ceiling(Model):
    """Most bus bandwidth that any algorithm reaches on these machines, whatever anybody expects."""

    check: str
    platform: str | None = None
    """Of all nodes that took part; None for any, as runs have it that were all of one."""
    collective: str
    ranks: int | None = None
    """None for any number."""
    gb_s: float
    source: str


class Expectations(Model):
    """All of a run."""

    schema_: Annotated[Literal["rackwright/expectations/1"], Field(alias="schema")] = SCHEMA
    expectations: tuple[Expectation, ...]
    ceilings: tuple[Ceiling, ...] = ()
    """No gate may be above them."""
