"""`lab fault` names what is nearest to what was meant, and what can be meant at all."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from click.shell_completion import ShellComplete

from rackwright import paths
from rackwright.canonical import dumps
from rackwright.cli import frame
from rackwright.cli.cluster import open_cluster
from rackwright.cli.frame import run
from rackwright.lab import places, teardown
from rackwright.lab.faults.table import FAULTS
from rackwright.lab.world import world_of

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.lab.places import Places

    Capture = pytest.CaptureFixture[str]

SPEC = paths.repository() / "clusters" / "lab.yaml"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("RACKWRIGHT_RUN", str(tmp_path / "run"))
    return tmp_path


@pytest.fixture
def dead_lab(state: Path) -> str:
    """A lab that was made, and whose daemon has died."""
    cluster = open_cluster(SPEC)
    of = places.of("lab")
    world = world_of(cluster.plan, cluster.catalogue, SPEC, state / "image", of)
    of.lab.mkdir(parents=True)
    of.world.write_text(dumps(world))
    return "lab"


def ask(capture: Capture, *words: str, code: int) -> dict[str, object]:
    assert run(["lab", "fault", *words, "--format", "json"]) == code
    document = json.loads(capture.readouterr().out)
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize("words", [("slow-rial", "node-001"), ("clear", "slow-rial")])
def test_an_unknown_fault_is_told_with_the_nearest_one(capsys: Capture, words: tuple[str, ...]) -> None:
    said = ask(capsys, *words, code=2)
    assert (said["got"], said["expected"]) == ("slow-rial", ", ".join(FAULTS))
    assert said["hint"] == "did you mean `slow-rail`?"


@pytest.mark.parametrize(
    ("fault", "subject", "near"),
    [("slow-rail", "node-02/r1", "node-002/r1"), ("kill", "node-01", "node-001")],
)
def test_an_unknown_subject_is_told_with_all_that_can_be_meant(
    capsys: Capture, dead_lab: str, fault: str, subject: str, near: str
) -> None:
    said = ask(capsys, fault, subject, "--lab", dead_lab, code=2)
    assert said["hint"] == f"did you mean `{near}`?"
    assert near in str(said["expected"])


def test_the_only_lab_that_is_here_goes_without_being_named(
    dead_lab: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    taken: list[str] = []

    def take(of: Places, _: object) -> bool:
        taken.append(of.cluster)
        return True

    monkeypatch.setattr(teardown, "take_down", take)
    assert run(["lab", "down"]) == 0
    assert taken == [dead_lab]
    assert "the lab is down" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [
        (["lab", "fault", "kill"], "node-00", ["node-001", "node-002", "node-003"]),
        (["lab", "fault", "cut-rail"], "node-003", ["node-003/r0", "node-003/r1"]),
        (["lab", "ssh"], "he", ["head-001"]),
    ],
)
def test_tab_offers_what_is_in_the_lab(
    dead_lab: str, words: list[str], begun: str, offered: list[str]
) -> None:
    del dead_lab
    shell = ShellComplete(frame.root, {}, "rackwright", frame.COMPLETION_VARIABLE)
    assert [item.value for item in shell.get_completions(words, begun)] == offered


@pytest.mark.parametrize("words", [["lab", "fault", "kill"], ["lab", "ssh"]])
def test_tab_offers_nothing_without_a_lab(words: list[str]) -> None:
    shell = ShellComplete(frame.root, {}, "rackwright", frame.COMPLETION_VARIABLE)
    assert shell.get_completions(words, "node") == []


def test_a_host_without_rails_has_none_to_cut(capsys: Capture, dead_lab: str) -> None:
    said = ask(capsys, "cut-rail", "head-001", "--lab", dead_lab, code=2)
    assert str(said["expected"]).startswith("a rail: node-001/r0, node-001/r1, node-002/r0")


def test_a_lab_that_is_not_up_has_no_faults(capsys: Capture) -> None:
    said = ask(capsys, "kill", "node-001", "--lab", "nowhere", code=2)
    assert (said["code"], said["where"]) == ("LAB022", "nowhere")
    shown = ask(capsys, "list", "--lab", "nowhere", code=0)
    assert shown["faults"] == []


def test_only_root_plants(capsys: Capture, dead_lab: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    said = ask(capsys, "kill", "node-001", "--lab", dead_lab, code=2)
    assert (said["code"], said["got"]) == ("LAB011", "user 1000")


def test_without_labd_nothing_is_planted_and_what_can_be_is_still_listed(
    capsys: Capture, dead_lab: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    said = ask(capsys, "kill", "node-001", "--lab", dead_lab, code=2)
    assert said["code"] == "LAB015"
    shown = ask(capsys, "list", "--lab", dead_lab, code=0)
    known = shown["known"]
    assert isinstance(known, list)
    assert [one["name"] for one in known] == list(FAULTS)
    assert all({"does", "shows", "kind", "subjects"} <= one.keys() for one in known)
    assert all(one["subjects"] for one in known if one["kind"] in ("host", "rail"))
