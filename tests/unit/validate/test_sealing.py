"""The last line that says how long an output is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright.validate.model import Completeness, Tool
from rackwright.validate.parsers.sealing import body_of, seal
from rackwright.validate.parsers.table import parse

LINES = st.lists(st.text(alphabet="abc #0:", max_size=8), max_size=6)


@given(lines=LINES)
def test_what_was_sealed_comes_out_as_it_was(lines: list[str]) -> None:
    body = body_of(seal("".join(f"{line}\n" for line in lines)))
    assert (body.lines, body.sealed) == (lines, True)


@pytest.mark.parametrize("tool", [Tool.DMESG, Tool.NVIDIA_SMI])
def test_seal_alone_is_no_measurement(tool: Tool) -> None:
    assert parse(tool, seal("")).status is Completeness.INCOMPLETE


def test_two_sealed_outputs_in_one_file_are_refused() -> None:
    sealed = seal("[    1.000000] a line\n")
    assert parse(Tool.DMESG, sealed + sealed).status is Completeness.CORRUPT
