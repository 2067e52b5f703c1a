"""A platform that nothing here can power on: planned like any other, and refused by `up` with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from rackwright.cli.frame import run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_it_is_planned_and_up_says_why_it_does_not_build_it(
    hall: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    hall["pools"]["node"] |= {"platform": "lab-guest", "fabrics": {"compute": {"ports": "rails"}}}
    hall["fabrics"]["compute"]["speed"] = "1g"
    spec = tmp_path / "small.yaml"
    spec.write_text(yaml.safe_dump(hall), encoding="utf-8")
    assert run(["plan", str(spec)]) == 0
    said = capsys.readouterr().out
    why = "pools.node: lab-guest has no management controller; power its nodes on by hand"
    assert "5 nodes" in said
    assert why in said
    assert run(["up", str(spec), "--yes"]) == 2
    assert why in capsys.readouterr().err
