"""`rackwright validate`, as far as it goes without hosts: whom it refuses, and what it says."""

from __future__ import annotations

import errno
import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli import validate
from rackwright.cli.frame import run
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    shutil.copytree(paths.repository() / "clusters", tmp_path / "clusters")
    return tmp_path / "clusters"


def refused(capsys: Capture, *words: str) -> dict[str, str]:
    assert run(["validate", *words, "--format", "json"]) == 2
    document: dict[str, str] = json.loads(capsys.readouterr().out)
    return document


def test_an_unknown_suite_is_told_with_the_known_ones(clusters: Path, capsys: Capture) -> None:
    error = refused(capsys, str(clusters / "lab.yaml"), "acceptence")
    assert (error["code"], error["got"], error["expected"]) == ("VAL001", "acceptence", "acceptance")


def test_a_host_that_runs_no_jobs_cannot_be_validated(clusters: Path, capsys: Capture) -> None:
    error = refused(capsys, str(clusters / "lab.yaml"), "--limit", "head-001")
    assert (error["code"], error["expected"]) == ("VAL003", "nodes of node")


def test_a_cluster_that_is_not_up_yet_is_told_by_its_controller_and_no_name_is_looked_up(
    clusters: Path, capsys: Capture
) -> None:
    """No host has a key, so the controller is no host that ssh may talk to."""
    error = refused(capsys, str(clusters / "lab.yaml"))
    assert (error["code"], error["where"], error["got"]) == ("VAL005", "head-001", "no console log")
    assert "console server" in error["hint"]
    assert not (clusters.parent / "runs").exists()


def test_a_folder_without_a_run_is_told_before_anything_is_asked(clusters: Path, capsys: Capture) -> None:
    error = refused(capsys, str(clusters / "lab.yaml"), "--resume", str(clusters / "nothing"))
    assert (error["code"], error["where"]) == ("RUN001", str(clusters / "nothing"))
    assert "--out" in error["hint"]


def test_a_folder_in_which_a_run_had_not_begun_yet_is_told_with_what_begins_it(
    clusters: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "run").mkdir()
    error = refused(capsys, str(clusters / "lab.yaml"), "--resume", str(tmp_path / "run"))
    assert (error["code"], error["got"]) == ("RUN001", "no run.json")
    assert f"--out {tmp_path / 'run'}" in error["hint"]


def test_a_full_disk_while_it_is_judged_does_not_send_anybody_to_validate_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder / "verdict.json"))

    monkeypatch.setattr(validate, "judge_folder", full)
    with pytest.raises(EnvironmentUnfit) as caught:
        validate.judgement(tmp_path)
    assert caught.value.where == str(tmp_path / "verdict.json")
    assert f"`rackwright judge {tmp_path}`" in caught.value.hint


def test_a_run_has_one_folder(clusters: Path, capsys: Capture) -> None:
    error = refused(capsys, str(clusters / "lab.yaml"), "--resume", "a", "--out", "b")
    assert error["got"] == "--out b and --resume a"
