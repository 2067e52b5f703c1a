"""The group that all commands on fabrics belong to, and how they find the fabric that is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rackwright.errors import UsageError
from rackwright.findings import did_you_mean
from rackwright.spec.fabrics import Custom, Efa

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.plan.model import Plan


@click.group()
def command() -> None:
    """Switches and cables of a fabric."""


def is_custom(plan: Plan, name: str) -> bool:
    """Whether a fabric is told by its counts alone."""
    fabric = plan.fabrics[name]
    return not isinstance(fabric, Efa) and isinstance(fabric.topology, Custom)


def fabrics_of(plan: Plan, asked: str | None) -> list[str]:
    """The fabric that was asked for, or all that have cables.

    Raises:
        UsageError: none has, none of that name, or it is custom.
    """
    found = [name for name in plan.cabling if asked in {None, name}]
    told = [name for name in found if is_custom(plan, name)]
    if told and told == found:
        raise UsageError(
            "the cables of a custom topology are not known, only how many there are",
            where=f"fabrics.{told[0]}.topology",
            got="kind custom",
            expected="a fat tree, or one switch a rail",
            hint="`rackwright fabric size` has the counts",
        )
    if found:
        return [name for name in found if name not in told]
    raise UsageError(
        "there is no such fabric with cables" if asked else "no fabric of this spec has cables",
        where="--fabric" if asked else "fabrics",
        got=asked or ", ".join(plan.fabrics) or "no fabric",
        expected=", ".join(plan.cabling) or "a spec with an InfiniBand or Ethernet fabric",
        hint=did_you_mean(asked or "", plan.cabling),
    )


def one_infiniband(plan: Plan, asked: str | None) -> str:
    """The InfiniBand fabric that was asked for, or the only one.

    Raises:
        UsageError: there are none, or several.
    """
    found = [name for name in fabrics_of(plan, asked) if plan.fabrics[name].kind == "infiniband"]
    if len(found) == 1:
        return found[0]
    raise UsageError(
        "this is of one InfiniBand fabric",
        where="--fabric",
        got=", ".join(found) or f"{asked or 'no fabric'} of kind infiniband",
        expected="one",
        hint="name one of them: --fabric" if found else "",
    )


def one_fabric(plan: Plan, asked: str | None) -> str:
    """The fabric that was asked for, or the only one that has cables.

    Raises:
        UsageError: there are none, or several.
    """
    found = fabrics_of(plan, asked)
    if len(found) == 1:
        return found[0]
    raise UsageError(
        "this is of one fabric",
        where="--fabric",
        got=", ".join(found) or "no fabric with cables",
        expected="one",
        hint="name one of them: --fabric" if found else "",
    )


def dump_text(path: Path) -> str:
    """What a tool has found, as it printed it.

    Raises:
        UsageError: no file that can be read.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            "the dump cannot be read", where=str(path), got=error.strerror or "", expected="a file"
        ) from None
