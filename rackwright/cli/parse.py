"""`rackwright parse`: what one tool's raw output says."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.errors import BAD, GOOD, INCOMPLETE, UsageError
from rackwright.findings import did_you_mean
from rackwright.validate.model import Completeness, Tool
from rackwright.validate.parsers.flow import parts
from rackwright.validate.parsers.table import PARSERS, parse
from rackwright.verdict.report.figures import figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.canonical import Json
    from rackwright.cli.output import Console
    from rackwright.validate.model import Parsed, Reading

SCHEMA = "rackwright/parse/1"
EXIT_CODES = {
    Completeness.COMPLETE: GOOD,
    Completeness.CORRUPT: BAD,
    Completeness.INCOMPLETE: INCOMPLETE,
    Completeness.NOT_RUN: INCOMPLETE,
}


@frame.command(example="rackwright parse fio result.json\nrackwright parse iperf3 - < pair.json")
@click.argument(
    "tool", metavar="TOOL", shell_complete=frame.completed(lambda _: (tool.value for tool in PARSERS))
)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def command(console: Console, tool: str, file: Path) -> int:
    """Read FILE, or standard input for `-`, as raw output of TOOL, and print what was measured.

    Exit code 0 where all of it is understood, 1 where it is not what TOOL writes, 3 where a part is
    missing or TOOL says that it did not measure.
    """
    parsed = _parsed(_tool(tool), file)
    console.result(_document(tool, parsed), _text(tool, file, parsed))
    return EXIT_CODES[parsed.status]


def _tool(name: str) -> Tool:
    known = [tool.value for tool in PARSERS]
    if name not in known:
        raise UsageError(
            "no parser of this name",
            code="PARSE001",
            where="TOOL",
            got=name,
            expected=", ".join(known),
            hint=did_you_mean(name, known),
        )
    return Tool(name)


def _parsed(tool: Tool, file: Path) -> Parsed:
    """What the file says, read part by part; bytes that are no UTF-8 are replaced, which no parser takes."""
    try:
        with contextlib.ExitStack() as stack:
            raw = sys.stdin.buffer if str(file) == "-" else stack.enter_context(file.open("rb"))
            return parse(tool, parts(raw))
    except OSError as error:
        raise UsageError(
            "the file cannot be read",
            code="PARSE002",
            where=str(file),
            got=error.strerror or str(error),
            expected=f"a file with what {tool.value} printed, or - for standard input",
        ) from None


def _document(tool: str, parsed: Parsed) -> Mapping[str, Json]:
    return {
        "schema": SCHEMA,
        "tool": tool,
        "status": parsed.status.value,
        "problem": parsed.problem,
        "measurements": [reading.model_dump(mode="json") for reading in parsed.readings],
    }


def _text(tool: str, file: Path, parsed: Parsed) -> str:
    head = f"{file}: {parsed.status}" + (f": {parsed.problem}" if parsed.problem else f" output of {tool}")
    return "\n".join([head, *map(_line, parsed.readings)])


def _line(reading: Reading) -> str:
    said = reading.context.model_dump(mode="json", exclude_defaults=True)
    parameters = said.pop("parameters", {})
    about = ", ".join(f"{name}={_plain(value)}" for name, value in {**said, **parameters}.items())
    return f"  {reading.name:<16} {figure(reading.value, reading.unit, digits=4)}  ({about})"


def _plain(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)
