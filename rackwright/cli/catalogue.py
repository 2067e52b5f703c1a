"""`rackwright catalogue`: what is known of hardware, and where each figure comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rackwright.catalogue.load import load, nearest
from rackwright.cli import frame
from rackwright.errors import GOOD, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.catalogue.load import Section
    from rackwright.catalogue.model import Entry, Source
    from rackwright.cli.output import Console


@click.group()
def command() -> None:
    """Platforms, accelerators, NICs, switches and releases of Slurm, with the source of each figure."""


@frame.command("list", group=command, example="rackwright catalogue list")
def list_entries(console: Console) -> int:
    """List everything the catalogue knows."""
    entries = list(load().entries())
    width = max(len(entry.name) for _, entry in entries)
    console.result(
        {
            "schema": "rackwright/catalogue/1",
            "entries": [
                {"section": section, "name": entry.name, "title": entry.title} for section, entry in entries
            ],
        },
        "\n".join(f"{section:<12}  {entry.name:<{width}}  {entry.title}" for section, entry in entries),
    )
    return GOOD


@frame.command("show", group=command, example="rackwright catalogue show dgx-h100")
@click.argument(
    "name", shell_complete=frame.completed(lambda _: (entry.name for _, entry in load().entries()))
)
def show(console: Console, name: str) -> int:
    """Show one entry, each figure with its source."""
    section, entry = _find(name)
    plain = entry.model_dump(mode="json")
    console.result(
        {"schema": "rackwright/catalogue-entry/1", "section": section, "entry": plain},
        "\n".join(_text(section, entry)),
    )
    return GOOD


def _find(name: str) -> tuple[Section, Entry]:
    entries = {entry.name: (section, entry) for section, entry in load().entries()}
    if name not in entries:
        raise UsageError(
            "no such entry",
            where="rackwright catalogue show",
            got=name,
            expected="a name from `rackwright catalogue list`",
            hint=nearest(name, entries),
        )
    return entries[name]


def _text(section: Section, entry: Entry) -> Iterator[str]:
    yield f"{entry.name}  {entry.title}  ({section})"
    figures = dict(entry.figures())
    width = max(map(len, figures), default=0)
    for figure, value in figures.items():
        numbers = ", ".join(f"[{number}]" for number in _vouching(entry, figure))
        yield f"  {figure:<{width}}  {_value(value)}  {numbers}"
    yield "sources"
    for number, source in enumerate(entry.sources, 1):
        yield f"  [{number}] {_source(source)}"


def _vouching(entry: Entry, figure: str) -> Iterator[int]:
    for number, source in enumerate(entry.sources, 1):
        if any(figure == name or figure.startswith(f"{name}.") for name in source.states):
            yield number


def _value(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _source(source: Source) -> str:
    where = f"\n      {source.url}" if source.url else ""
    return f"{source.text} ({source.confidence}, read {source.read}){where}"
