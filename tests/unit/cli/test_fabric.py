"""`rackwright fabric size`: the numbers of a spec and of options, as text and as JSON, and refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.frame import run
from tests.doubles import superpod

if TYPE_CHECKING:
    from pathlib import Path

CLUSTERS = paths.repository() / "clusters"
SIZE = ["fabric", "size"]
OPTIONS = ["--topology", "fat-tree", "--endpoints", "1024", "--ports", "64", "--rails", "8"]


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SIZE, *OPTIONS, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "schema": "rackwright/fabric-size/1",
        "endpoints": 1024,
        "tiers": [{"role": "leaf", "switches": 32}, {"role": "spine", "switches": 16}],
        "cables": [
            {"between": ["node", "leaf"], "count": 1024},
            {"between": ["leaf", "spine"], "count": 1024},
        ],
    }


@pytest.mark.parametrize(("nodes", "manager", "switches", "cables"), superpod.PUBLISHED)
def test_the_published_rows_by_the_command(
    nodes: int, manager: int, switches: list[int], cables: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Both tables of the DGX SuperPOD reference architecture; those with a manager are as built."""
    asked = ["--topology", "fat-tree", "--endpoints", str(8 * nodes), "--ports", "64", "--rails", "8"]
    built = ["--manager-uplinks", str(manager), "--partial"] if manager else []
    assert run([*SIZE, *asked, "--unit-nodes", "32", *built, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["switches"] for one in told["tiers"]] == switches
    assert [one["count"] for one in told["cables"]] == cables


def test_a_spec_names_each_fat_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SIZE, str(CLUSTERS / "onprem-dgx-h100.yaml"), "--format", "json"]) == 0
    fabrics = json.loads(capsys.readouterr().out)["fabrics"]
    assert list(fabrics) == ["compute", "storage"]
    assert fabrics["compute"]["tiers"] == [
        {"role": "leaf", "switches": 32},
        {"role": "spine", "switches": 16},
    ]
    assert fabrics["compute"]["cables"][0]["count"] == 1020


def test_a_spec_without_a_fat_tree_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SIZE, str(CLUSTERS / "lab.yaml")]) == 0
    assert capsys.readouterr().out == "no fabric of this spec is a fat tree\n"


def test_a_leaf_of_a_spec_with_too_few_ports_is_told_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (CLUSTERS / "onprem-dgx-h100.yaml").read_text(encoding="utf-8")
    spec = tmp_path / "crowded.yaml"
    spec.write_text(
        text.replace("unit_nodes: 20", "unit_nodes: 32").replace("file:assets", f"file:{CLUSTERS}/assets")
    )
    line = next(n for n, one in enumerate(text.splitlines(), 1) if "attach: tor" in one)
    assert run([*SIZE, str(spec)]) == 1
    said = capsys.readouterr().err
    assert f"{spec}:{line}:5: error FAB004: a leaf has fewer ports than its unit needs" in said
    assert "64 node links on 64 ports, and 32 uplinks" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "SPEC, or --topology fat-tree"),
        ([str(CLUSTERS / "lab.yaml"), *OPTIONS], "SPEC, or --topology fat-tree"),
        (["--topology", "fat-tree", "--ports", "64"], "no --endpoints"),
        ([*OPTIONS, "--ports", "63"], "an even number"),
        ([*OPTIONS, "--leaf", "0"], "no positive number"),
        ([*OPTIONS, "--leaf", "1/0"], "no positive number"),
        ([*OPTIONS, "--leaf", "two"], "no positive number"),
        ([*OPTIONS, "--tiers", "4"], "2<=x<=3"),
    ],
)
def test_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SIZE, *arguments]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


def test_a_ratio_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SIZE, *OPTIONS, "--unit-nodes", "32", "--leaf", "32/5", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["cables"][1]["count"] == 32 * 5
