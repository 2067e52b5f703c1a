"""What scontrol says, or why it says nothing that could be worked with."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import pytest

from rackwright.burst.slurm import Slurm
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

NODE = b'{"nodes": [{"name": "cnode-002", "state": ["IDLE", "CLOUD"], "reason": "%s"}]}'


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the scontrol of this test prints."""
    program, said = tmp_path / "bin" / "scontrol", tmp_path / "said"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat {shlex.quote(str(said))}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return said


def test_a_reason_in_another_character_set_keeps_no_node_from_being_seen(answer: Path) -> None:
    answer.write_bytes(NODE % "Lüfter".encode("latin-1"))
    (node,) = Slurm().nodes(["cnode-002"]).values()
    assert node.reason == "L\N{REPLACEMENT CHARACTER}fter"
    assert not node.down_by_us


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"Unable to contact slurm controller",
        b'{"nodes": [{"name"',
        b"[]",
        b'{"nodes": [1]}',
        b"[" * 99999,
    ],
)
def test_what_is_no_answer_is_told_as_that(answer: Path, said: bytes) -> None:
    answer.write_bytes(said)
    with pytest.raises(EnvironmentUnfit) as refused:
        Slurm().nodes(["cnode-002"])
    assert refused.value.code == "BURST001"
    assert refused.value.got.startswith("no nodes: ")
    assert refused.value.where == "scontrol show node cnode-002 --json"
