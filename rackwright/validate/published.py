"""What healthy machines reached with nccl-tests, as published; nothing where nobody published a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from rackwright import strict_yaml
from rackwright.catalogue.model import Check
from rackwright.spec.base import Model
from rackwright.validate.expectations import Expectation, Key, Provenance
from rackwright.validate.model import Unit

_DATA = Path(__file__).with_name("published.yaml")


class Figure(Model):
    """Bus bandwidth that was reached, GB/s."""

    platform: str
    nodes: Annotated[int, Field(ge=1)]
    collective: str
    size_bytes: Annotated[int, Field(ge=1)]
    gb_s: Annotated[float, Field(gt=0)]
    source: str


class Source(Model):
    """Where a figure was published."""

    text: str
    date: Annotated[str, Field(pattern=r"^\d{4}(-\d\d(-\d\d)?)?$")]
    """Of the text, or when it was read."""


class Link(Model):
    """What one accelerator can send within its domain."""

    gb_s: Annotated[float, Field(gt=0)]
    source: str


class Published(Model):
    """All figures."""

    share: Annotated[float, Field(ge=0.7, lt=1)]
    """Of a figure that a gate is; below 0.7 half-broken machines pass (docs/verdict.md)."""
    figures: tuple[Figure, ...]
    sources: Mapping[str, Source]
    links: Mapping[str, Link]
    """Accelerator → its links to others, in one direction."""
    unpublished: Mapping[str, str]
    """Platform → what was looked for and not found."""


@cache
def published() -> Published:
    """The figures that come with the package."""
    return Published.model_validate(strict_yaml.load(_DATA.read_text(encoding="utf-8")))


def of_accelerators(platform: str, nodes: int, accelerators: int) -> Iterator[Expectation]:
    """What is expected of nccl-tests over so many nodes of a platform; never scaled from another number."""
    known = published()
    for figure in known.figures:
        if (figure.platform, figure.nodes) == (platform, nodes):
            yield Expectation(
                key=Key(
                    name="busbw",
                    check=Check.NCCL_TESTS,
                    platform=platform,
                    collective=figure.collective,
                    size_bytes=figure.size_bytes,
                    ranks=nodes * accelerators,
                ),
                unit=Unit.GB_S,
                at_least=round(known.share * figure.gb_s, 3),
                nominal=figure.gb_s,
                provenance=Provenance.PUBLISHED,
                source=f"{known.share:g} of {figure.gb_s:g} GB/s: {known.sources[figure.source].text}",
                date=known.sources[figure.source].date,
            )
