"""Something bad in: place, got, expected, hint and exit code out, and nothing made.

Run through the real console script, as a user does.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rackwright import paths

SCRIPT = Path(sys.executable).with_name("rackwright")
LAB = (paths.repository() / "clusters" / "lab.yaml").read_text()
LAB_ASSETS = (paths.repository() / "clusters" / "assets" / "lab.csv").read_text()


@dataclass(frozen=True)
class Bad:
    """One spec, and what must be said of it."""

    text: str
    code: str
    line: int
    exit_code: int = 1
    says: str = ""
    """Somewhere in got, expected or hint."""
    assets: str = LAB_ASSETS
    findings: int = 1


def _lab(old: str, new: str) -> str:
    assert LAB.count(old) >= 1, old
    return LAB.replace(old, new, 1)


def _line(text: str, of: str) -> int:
    return text[: text.index(of)].count("\n") + 1


NODES = "nodes: {static: 3}"
RACKS = "racks: {rows: 1, per_row: 2, units: 12, power_kw: 2, cooling: air}"

CASES = {
    "empty file": Bad("", "SPEC001", 0, 2, "rackwright: 1"),
    "broken YAML": Bad("rackwright: 1\ncluster: {name: x\n", "SPEC001", 3, 2),
    "a tab": Bad("rackwright: 1\ncluster:\n\tname: x\n", "SPEC001", 3, 2, "tab"),
    "a list": Bad("- rackwright\n", "SPEC001", 1, 2),
    "twice the same key": Bad(LAB + "links: {}\nlinks: {}\n", "SPEC017", LAB.count("\n") + 2),
    "wrong type": Bad(_lab("units: 12", "units: many"), "SPEC012", _line(LAB, "units: 12")),
    "unknown key": Bad(
        _lab("cooling: air", "coling: air"), "SPEC011", _line(LAB, "cooling: air"), says="cooling"
    ),
    "count of -1": Bad(_lab(NODES, "nodes: {static: -1}"), "SPEC014", _line(LAB, NODES), says="at least 0"),
    "no slots": Bad(_lab(NODES, "nodes: {static: 0, burst: 0}"), "SPEC016", _line(LAB, NODES)),
    "ten million nodes": Bad(
        _lab(NODES, "nodes: {static: 10000000}"), "ADDR001", _line(LAB, NODES), says="at most"
    ),
    "overlapping networks": Bad(
        _lab("bmc: {cidr: 10.77.1.0/24}", "bmc: {cidr: 10.77.0.128/25}"),
        "NET001",
        _line(LAB, "bmc: {cidr"),
        findings=0,
    ),
    "a rack over its units": Bad(_lab("units: 12", "units: 1"), "RACK001", _line(LAB, NODES)),
    "a rack over its power": Bad(_lab("power_kw: 2", "power_kw: 0.3"), "RACK001", _line(LAB, NODES)),
    "duplicate serials": Bad(
        LAB, "ASSET004", 3, assets=LAB_ASSETS.replace("LAB-0002", "LAB-0001"), says="head-001", findings=0
    ),
}


@dataclass(frozen=True)
class Answer:
    code: int
    document: Any
    stderr: str


def _ask(folder: Path, spec: Path, verb: str = "check", prefix: tuple[str, ...] = ()) -> Answer:
    done = subprocess.run(
        [*prefix, str(SCRIPT), verb, str(spec), "--format", "json"],
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Answer(done.returncode, json.loads(done.stdout), done.stderr)


def _spoiled(folder: Path, bad: Bad) -> Path:
    (folder / "assets").mkdir()
    (folder / "assets" / "lab.csv").write_text(bad.assets)
    spec = folder / "lab.yaml"
    spec.write_text(bad.text)
    return spec


@pytest.mark.parametrize("name", CASES)
def test_a_bad_spec_is_placed_and_explained(tmp_path: Path, name: str) -> None:
    bad = CASES[name]
    answer = _ask(tmp_path, _spoiled(tmp_path, bad), "plan")
    assert answer.code == bad.exit_code
    assert answer.document["schema"] == "rackwright/error/1"
    told = answer.document["findings"] or [answer.document]
    first = next(one for one in told if one["code"] == bad.code)
    assert _line_of(first) == bad.line
    assert first["message"]
    assert first["got"]
    assert first["expected"]
    assert bad.says in first["got"] + first["expected"] + first["hint"]
    assert bad.findings in {0, len(told)}
    assert not (tmp_path / "state").exists()
    assert not spec_lock(tmp_path).exists()


def _line_of(told: dict[str, Any]) -> int:
    """Line of a finding or an error; 0 where it is the file as a whole."""
    if "line" in told:
        return int(told["line"])
    parts = told["where"].rsplit(":", 2)
    return int(parts[1]) if len(parts) == 3 else 0


def spec_lock(folder: Path) -> Path:
    return folder / "lab.lock.yaml"


def test_five_errors_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = LAB
    for old, new in (
        ("domain: lab.internal", "domain: UPPER"),
        ("rows: 1", "rows: 0"),
        ("pue: 1.2", "pue: 0.5"),
        ("mtu: 1500}", "mtu: 12}"),
        ("kind: slurm", "kind: slrum"),
    ):
        text = text.replace(old, new, 1)
    answer = _ask(tmp_path, _spoiled(tmp_path, Bad(text, "", 0)))
    lines = [finding["line"] for finding in answer.document["findings"]]
    assert answer.code == 1
    assert len(lines) == 5
    assert lines == sorted(lines)
    assert answer.document["counts"]["error"] == 5


def test_a_folder_is_no_spec(tmp_path: Path) -> None:
    answer = _ask(tmp_path, tmp_path)
    assert (answer.code, answer.document["code"]) == (2, "SPEC001")
    assert answer.document["where"] == str(tmp_path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    answer = _ask(tmp_path, tmp_path / "gone.yaml")
    assert (answer.code, answer.document["code"]) == (2, "SPEC001")
    assert "gone.yaml" in answer.document["where"]


def test_a_file_that_is_no_utf_8_is_told(tmp_path: Path) -> None:
    spec = tmp_path / "lab.yaml"
    spec.write_bytes(LAB.encode() + b"\n# \xff\n")
    answer = _ask(tmp_path, spec)
    assert (answer.code, answer.document["code"]) == (2, "SPEC001")
    assert answer.document["got"]
    assert answer.document["expected"]


@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, to be somebody else"
)
def test_a_file_without_permission_is_told(tmp_path: Path) -> None:
    spec = tmp_path / "lab.yaml"
    spec.write_text(LAB)
    spec.chmod(0)
    # CAP_DAC_OVERRIDE is what lets root read everything; without it root is as anybody.
    answer = _ask(tmp_path, spec, prefix=("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"))
    assert (answer.code, answer.document["code"]) == (2, "SPEC001")
    assert "ermission" in answer.document["got"]
