"""Logs of any length: whatever their parts, what is read is the same, and no more than a part is held."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright.validate.model import Completeness, Tool
from rackwright.validate.parsers.flow import BLOCK, Flow, parts
from rackwright.validate.parsers.sealing import seal
from rackwright.validate.parsers.table import LOGS, parse
from rackwright.validate.parsers.unread import Unread
from tests.doubles import fleet_logs

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).parents[2] / "cases"
LINES = st.lists(st.text(alphabet="ab #\r", max_size=6), max_size=8)
MIB = 2**20


def _in_parts(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _lines(text: str, size: int) -> tuple[list[str], bool]:
    flow = Flow(_in_parts(text, size))
    return [line for block in flow.blocks() for line in block.splitlines()], flow.sealed


@given(lines=LINES, size=st.integers(1, 40), sealed=st.booleans())
def test_lines_are_the_same_whatever_the_parts(lines: list[str], size: int, *, sealed: bool) -> None:
    text = "".join(f"{line}\n" for line in lines)
    assert _lines(seal(text) if sealed else text, size) == (text.splitlines(), sealed)


@given(lines=LINES, size=st.integers(1, 40), place=st.integers(0, 60))
def test_a_seal_that_does_not_fit_is_refused(lines: list[str], size: int, place: int) -> None:
    whole = seal("".join(f"{line}\n" for line in lines))
    spoiled = whole[:place] + "x" + whole[place:]
    if "# rackwright:" in spoiled:
        with pytest.raises(Unread):
            _lines(spoiled, size)


@pytest.mark.parametrize("tool", LOGS)
def test_every_case_of_a_log_is_read_the_same_in_parts(tool: Tool) -> None:
    for case in sorted((CASES / tool).iterdir()):
        text = (case / "input.txt").read_text(encoding="utf-8")
        assert parse(tool, _in_parts(text, 7)) == parse(tool, text), case.name


def test_what_is_no_log_is_read_as_a_whole_and_only_up_to_a_length() -> None:
    text = (CASES / "fio" / "good" / "input.txt").read_text(encoding="utf-8")
    assert parse(Tool.FIO, _in_parts(text, 100)) == parse(Tool.FIO, text)
    endless = parse(Tool.FIO, (" " * MIB for _ in range(10**9)))
    assert endless.status is Completeness.CORRUPT


def test_parts_of_a_file_cut_no_character() -> None:
    raw = b"x" * (BLOCK - 1) + "é".encode() + b"\xff\r\n"
    assert "".join(parts(io.BytesIO(raw))) == "x" * (BLOCK - 1) + "é\ufffd\r\n"


def test_an_endless_line_is_refused() -> None:
    assert parse(Tool.DMESG, ("x" * MIB for _ in range(10**9))).status is Completeness.CORRUPT


def _grown(line: str, lines: int) -> Iterator[str]:
    """Parts of a log in which one line stands again and again."""
    yield "[    0.000000] Linux version 6.8.0-45-generic\n"
    block = line * (MIB // 4 // len(line))
    for _ in range(lines * len(line) // len(block)):
        yield block


@pytest.mark.parametrize(
    ("line", "fewer"),
    [
        ("[  100.000000] mlx5_core 0000:1a:00.0 ibp24s0: Link up\n", 20_000),
        ("[  100.000000] NVRM: Xid (PCI:0000:1b:00): 43, pid=1, name=python3, Ch 00000010\n", 3_500),
    ],
    ids=["quiet", "events"],
)
def test_memory_does_not_grow_with_a_log(line: str, fewer: int) -> None:
    peaks = []
    for lines in (fewer, 4 * fewer):
        tracemalloc.start()
        parsed = parse(Tool.DMESG, _grown(line, lines))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert "an Xid in no form" not in parsed.problem
    assert peaks[1] < peaks[0] * 1.5


def test_of_events_that_are_alike_the_first_and_the_last_are_told_and_all_counted() -> None:
    lines = [f"[{at:12.6f}] NVRM: Xid (PCI:0000:1b:00): 43, Ch {at}\n" for at in range(1000)]
    parsed = parse(Tool.DMESG, seal("".join(lines)))
    told = [float(one.context.parameters["at_s"]) for one in parsed.readings if one.name == "xid"]
    assert told == [*range(100), *range(900, 1000)]
    assert [one.value for one in parsed.readings if one.name == "events"] == [1000]


def test_logs_of_a_fleet_are_whole(tmp_path: Path) -> None:
    for one in fleet_logs.write(tmp_path, nodes=16, size=2 * MIB):
        with one.path.open("rb") as raw:
            parsed = parse(one.tool, parts(raw))
        assert parsed.status is Completeness.COMPLETE, (one.path.name, parsed.problem)
