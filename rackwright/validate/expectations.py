"""What one may expect of a measurement, each figure with where it comes from."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model
from rackwright.validate.model import Unit

SCHEMA: Literal["rackwright/expectations/1"] = "rackwright/expectations/1"


class Provenance(StrEnum):
    """How a figure came to us."""

    PLAN = "plan"
    """Computed from the plan: the rate a link is built for."""
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
    collective: str | None = None
    size_bytes: int | None = None
    fabric: str | None = None
    rails: int | None = None
    """How many rails the measurement went over."""
    ranks: int | None = None
    """How many ranks took part."""
    link: str | None = None


class Expectation(Model):
    """A bound on one side."""

    key: Key
    unit: Unit
    at_least: float | None = None
    at_most: float | None = None
    nominal: float
    """The figure the bound was derived from, in the same unit: the rate of the link."""
    provenance: Provenance
    source: str
    """In words, for the reader of a report: ``0.7 of the planned 100 Mbit/s``."""


class Expectations(Model):
    """All of a run."""

    schema_: Annotated[Literal["rackwright/expectations/1"], Field(alias="schema")] = SCHEMA
    expectations: tuple[Expectation, ...]
