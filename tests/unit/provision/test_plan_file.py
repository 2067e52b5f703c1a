"""`plan.json` is read whole, or refused in one sentence with what writes it anew."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pulumi
import pytest
from pulumi.automation import CommandError, CommandResult

from rackwright import canonical, paths
from rackwright.cli.cluster import open_cluster
from rackwright.errors import PlanStale, UsageError
from rackwright.provision import engine_errors, plan_file, program
from rackwright.provision.aws.seed import UserData
from rackwright.provision.places import Folders

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


def _write_another(file: Path) -> None:
    """As `rackwright plan` does of a spec that was edited."""
    plan = plan_file.read(file)
    cluster = plan.cluster.model_copy(update={"domain": "another.example"})
    canonical.write_atomic(file, canonical.dumps(plan.model_copy(update={"cluster": cluster})))


def test_what_a_run_starts_reads_the_plan_that_the_run_was_begun_with_and_no_other(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [(name, wanted)] = plan_file.begun_with(plan_file.read(file)).items()
    monkeypatch.setenv(name, wanted)
    plan_file.read_of_run(file)
    _write_another(file)
    with pytest.raises(PlanStale, match="another plan since this run began") as caught:
        plan_file.read_of_run(file)
    assert (caught.value.code, caught.value.where) == ("PLAN003", str(file))
    assert caught.value.expected == f"sha256 {wanted}"
    assert caught.value.got == f"sha256 {canonical.sha256(file.read_bytes())}"
    with pytest.raises(PlanStale):
        UserData(Folders(file.parent, file.parent), "node")("node-001")


def test_a_plain_pulumi_reads_the_plan_that_is_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(plan_file.BEGUN_WITH, raising=False)
    _write_another(file)
    assert plan_file.read_of_run(file).cluster.domain == "another.example"


def test_another_plan_is_told_through_the_engine_by_its_code(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(plan_file.BEGUN_WITH, "0" * 64)
    monkeypatch.setattr(pulumi.Config, "require", lambda *_: os.fspath(file))
    with pytest.raises(pulumi.RunError) as caught:
        program.load_plan("onprem")
    said = f"  pulumi:pulumi:Stack (onprem-t):\n    error: {caught.value}\n\nerror: update failed\n"
    told = engine_errors.failure("onprem/t", CommandError(CommandResult(said, "", 255)), file)
    assert told.code == "PLAN003"
    assert told.cause.startswith(f"{file}: another command has written another plan")
