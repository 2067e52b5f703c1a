"""`plan.json` is read whole, or refused in one sentence with what writes it anew."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pulumi
import pytest

from rackwright import canonical, paths
from rackwright.cli.cluster import open_cluster
from rackwright.errors import UsageError
from rackwright.provision import plan_file, program

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    plan = open_cluster(paths.repository() / "clusters" / "lab.yaml").plan
    canonical.write_atomic(tmp_path / "plan.json", canonical.dumps(plan))
    return tmp_path / "plan.json"


def test_what_plan_wrote_is_read(file: Path) -> None:
    assert canonical.dumps(plan_file.read(file)) == file.read_text()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_a_plan_that_was_cut_is_refused(file: Path, share: float) -> None:
    text = file.read_text()
    file.write_text(text[: int(len(text) * share)])
    with pytest.raises(UsageError, match="no plan of this release") as caught:
        plan_file.read(file)
    assert (caught.value.code, caught.value.where) == ("PLAN002", str(file))
    assert caught.value.got.startswith("document: Invalid JSON")


def test_a_plan_of_another_release_says_what_it_lacks(file: Path) -> None:
    file.write_text('{"schema": "rackwright/plan/0"}')
    with pytest.raises(UsageError) as caught:
        plan_file.read(file)
    assert not caught.value.got.startswith("document")


def test_bytes_and_a_file_that_is_not_there(file: Path) -> None:
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="no plan"):
        plan_file.read(file)
    file.unlink()
    with pytest.raises(UsageError) as caught:
        plan_file.read(file)
    assert caught.value.got == "No such file or directory"


def test_a_stacks_program_says_it_without_a_traceback(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("")
    monkeypatch.setattr(pulumi.Config, "require", lambda *_: os.fspath(file))
    with pytest.raises(pulumi.RunError, match="rackwright plan SPEC writes it anew"):
        program.load_plan("onprem")
