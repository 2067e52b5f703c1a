"""A link is named only where nothing beyond it answers, and never over somebody else's reason."""

from __future__ import annotations

import importlib.util
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from rackwright import paths

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

SCONTROL = """#!/bin/sh
[ "$1" = show ] && exec cat "{folder}/nodes.json"
for word; do echo "$word"; done >> "{folder}/calls"
"""
OURS = "link wan: no node of cloud answers over it"
LEFT = "link wan: others of cloud answer over it, this node does not"
LOST, SLURMS = ["DOWN", "NOT_RESPONDING"], "Not responding"
CUT_OFF, BACK = ["DOWN", "DRAIN", "NOT_RESPONDING"], ["IDLE", "DRAIN"]


class Controller:
    """A controller that reaches c-1 to c-3 over a link, and a Slurm that notes what it is told."""

    def __init__(self, folder: Path, module: ModuleType) -> None:
        self.folder, self.module = folder, module
        links = [{"link": "wan", "site": "cloud", "nodes": ["c-1", "c-2", "c-3"]}]
        (folder / "links.json").write_text(json.dumps({"links": links}))

    def told(self, **nodes: tuple[list[str], str]) -> list[str]:
        """What Slurm is told where it says this of its nodes; those it does not name are idle."""
        said = {name: (["IDLE"], "") for name in ("n-1", "c-1", "c-2", "c-3")}
        said |= {name.replace("_", "-"): node for name, node in nodes.items()}
        (self.folder / "nodes.json").write_text(
            json.dumps(
                {"nodes": [{"name": n, "state": state, "reason": why} for n, (state, why) in said.items()]}
            )
        )
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        assert self.module.main() == 0
        return calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Controller:
    path = paths.repository() / "roles" / "slurm_controller" / "files" / "link_reasons.py"
    spec = importlib.util.spec_from_file_location("link_reasons", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "scontrol").write_text(SCONTROL.format(folder=tmp_path))
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(module, "LINKS", tmp_path / "links.json")
    monkeypatch.setattr(module, "SETTLED_S", 0)
    return Controller(tmp_path, module)


def test_all_beyond_are_lost_so_the_link_is_the_reason(controller: Controller) -> None:
    told = controller.told(c_1=(LOST, SLURMS), c_2=(LOST, SLURMS), c_3=(LOST, SLURMS))
    assert told == ["update", "nodename=c-1,c-2,c-3", "state=DRAIN", f"reason={OURS}"]


def test_one_beyond_answers_so_the_link_is_not_blamed(controller: Controller) -> None:
    assert controller.told(c_1=(LOST, SLURMS), c_2=(LOST, SLURMS)) == []


def test_a_node_of_this_site_has_nothing_to_do_with_it(controller: Controller) -> None:
    assert controller.told(n_1=(LOST, SLURMS)) == []


@pytest.mark.parametrize("state", ["POWERED_DOWN", "POWERING_UP", "FUTURE"])
def test_a_node_that_need_not_answer_speaks_neither_for_nor_against(
    controller: Controller, state: str
) -> None:
    told = controller.told(c_1=(LOST, SLURMS), c_2=(LOST, SLURMS), c_3=(["IDLE", "CLOUD", state], ""))
    assert told == ["update", "nodename=c-1,c-2", "state=DRAIN", f"reason={OURS}"]
    everybody = dict.fromkeys(("c_1", "c_2", "c_3"), (["IDLE", "CLOUD", state], ""))
    assert controller.told(**everybody) == []


def test_somebody_elses_reason_stands_and_told_is_told_once(controller: Controller) -> None:
    told = controller.told(
        c_1=(LOST, "broken fan"), c_2=(CUT_OFF, OURS), c_3=(["IDLE", "NOT_RESPONDING"], "")
    )
    assert told == []


def test_when_one_is_back_the_link_is_no_reason_of_the_others_any_more(
    controller: Controller,
) -> None:
    told = controller.told(c_1=(CUT_OFF, OURS), c_2=(LOST, "broken fan"))
    assert told == ["update", "nodename=c-1", f"reason={LEFT}"]
    assert controller.told(c_1=(CUT_OFF, LEFT)) == []
    again = controller.told(c_1=(CUT_OFF, LEFT), c_2=(LOST, SLURMS), c_3=(CUT_OFF, OURS))
    assert again == ["update", "nodename=c-1,c-2", "state=DRAIN", f"reason={OURS}"]


def test_a_node_that_answers_again_gets_jobs_after_a_pause(
    controller: Controller, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(controller.module, "SETTLED_S", 3)
    monkeypatch.setattr(controller.module, "time", SimpleNamespace(sleep=pauses.append))
    told = controller.told(c_1=(BACK, OURS), c_2=(BACK, LEFT), c_3=(BACK, "broken fan"))
    assert told == ["update", "nodename=c-1,c-2", "state=UNDRAIN"]
    assert pauses == [3]
    assert controller.told(c_1=(["IDLE"], OURS)) == []


def test_a_slurm_that_does_not_answer_is_told_and_tried_again(
    controller: Controller, capsys: pytest.CaptureFixture[str]
) -> None:
    (controller.folder / "scontrol").write_text("#!/bin/sh\nexit 1\n")
    assert controller.module.main() == 1
    assert "Slurm was not asked" in capsys.readouterr().err
