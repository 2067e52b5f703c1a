"""`rackwright plan --diff`: every changed path, with what the change does."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from rackwright import paths
from rackwright.cli.frame import run

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copytree(paths.repository() / "clusters", tmp_path / "clusters")
    return tmp_path / "clusters" / "lab.yaml"


@pytest.fixture
def old(spec: Path, tmp_path: Path) -> Path:
    """The spec as it was, at a place where its asset files are not."""
    shutil.copy(spec, tmp_path / "old.yaml")
    return tmp_path / "old.yaml"


def old_lab(old: Path) -> Path:
    """The old spec, where its asset files are."""
    shutil.copytree(paths.repository() / "clusters" / "assets", old.parent / "assets")
    return old


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


def diff(spec: Path, old: Path, capsys: Capture) -> tuple[int, list[dict[str, Any]]]:
    capsys.readouterr()
    code = run(["plan", str(spec), "--diff", str(old), "--format", "json", "-q"])
    return code, json.loads(capsys.readouterr().out)["diff"]


def test_no_change_is_said(spec: Path, old: Path, capsys: Capture) -> None:
    assert diff(spec, old, capsys) == (0, [])
    assert run(["plan", str(spec), "--diff", str(old)]) == 0
    assert capsys.readouterr().out.startswith("no change\n")


def test_a_change_has_both_values_and_its_policy(spec: Path, old: Path, capsys: Capture) -> None:
    edit(spec, "nodes: {static: 3}", "nodes: {static: 4}")
    edit(spec, "mtu: 1500}", "mtu: 1400}")
    code, changed = diff(spec, old, capsys)
    assert code == 0
    assert [(one["path"], one["old"], one["new"], one["change"]) for one in changed] == [
        ("fabrics.compute.mtu", 1500, 1400, "rolling"),
        ("pools.node.nodes.static", 3, 4, "in place"),
    ]
    assert all(one["source"] for one in changed)


def test_a_pool_more_and_a_pool_less_have_the_policy_of_the_map(
    spec: Path, old: Path, capsys: Capture
) -> None:
    edit(
        spec,
        "pools:\n",
        "pools:\n  spare: {site: hall, platform: lab-node, nodes: {static: 1}, image: debian}\n",
    )
    _, (more,) = diff(spec, old, capsys)
    assert (more["path"], more["old"], more["change"]) == ("pools.spare", None, "in place")
    _, (less,) = diff(old_lab(old), spec, capsys)
    assert (less["path"], less["new"], less["change"]) == ("pools.spare", None, "in place")


def test_the_order_of_roles_is_no_change(spec: Path, old: Path, capsys: Capture) -> None:
    edit(spec, "[slurm-controller, slurmdbd, monitoring]", "[monitoring, slurmdbd, slurm-controller]")
    assert diff(spec, old, capsys) == (0, [])


def test_a_set_is_shown_in_order(spec: Path, old: Path, capsys: Capture) -> None:
    edit(spec, "[slurm-controller, slurmdbd, monitoring]", "[slurmdbd, slurm-controller, monitoring, login]")
    _, (one,) = diff(spec, old, capsys)
    assert one["old"] == ["monitoring", "slurm-controller", "slurmdbd"]
    assert one["new"] == ["login", "monitoring", "slurm-controller", "slurmdbd"]


def test_a_forbidden_change_is_refused_and_nothing_written(
    spec: Path, old: Path, capsys: Capture, tmp_path: Path
) -> None:
    edit(spec, "units: 12", "units: 14")
    edit(spec, "static: 3", "static: 4")
    lock = spec.with_name("lab.lock.yaml").read_bytes()
    code, changed = diff(spec, old, capsys)
    assert code == 1
    assert [one["change"] for one in changed] == ["in place", "forbidden"]
    assert spec.with_name("lab.lock.yaml").read_bytes() == lock
    assert not (tmp_path / "state").exists()
    assert run(["plan", str(spec), "--diff", str(old)]) == 1
    out = capsys.readouterr().out
    assert "sites.hall.racks.units: 12 -> 14  [forbidden:" in out
    assert out.endswith("refused: a forbidden change; nothing is written\n")


def test_an_older_plan_shows_what_became_of_the_slots(spec: Path, tmp_path: Path, capsys: Capture) -> None:
    run(["plan", str(spec), "--out", str(tmp_path / "before")])
    edit(spec, "nodes: {static: 3}", "nodes: {static: 4}")
    code, changed = diff(spec, tmp_path / "before" / "plan.json", capsys)
    assert code == 0
    paths_changed = {one["path"]: one for one in changed}
    assert "pools.node.slots.node-004" in paths_changed
    assert not any(
        path.startswith(("origin", "pools.node.slots.node-003", "pools.head")) for path in paths_changed
    )
    assert paths_changed["totals.nodes"]["change"] is None


@pytest.mark.parametrize(
    ("text", "place"), [("{", "old.json:1:2"), ("[]", "old.json"), ('{"schema": "x"}', "old.json")]
)
def test_what_is_no_plan_is_said_to_be_none(
    spec: Path, tmp_path: Path, capsys: Capture, text: str, place: str
) -> None:
    (tmp_path / "old.json").write_text(text, encoding="utf-8")
    assert run(["plan", str(spec), "--diff", str(tmp_path / "old.json")]) == 2
    err = capsys.readouterr().err
    assert place in err
    assert "SPEC001" in err


def test_an_old_spec_that_is_not_there_is_said(spec: Path, tmp_path: Path, capsys: Capture) -> None:
    assert run(["plan", str(spec), "--diff", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml" in capsys.readouterr().err
