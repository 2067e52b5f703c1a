"""What a spec may not say of platforms and kernels: refused by `check` and by `plan`, with place and hint."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.frame import run

if TYPE_CHECKING:
    from pathlib import Path

CLUSTERS = paths.repository() / "clusters"
IMAGE = "    image: debian"
TUNED = f"{IMAGE}\n    tuning: "
CASES = {
    "unknown platform": (
        ("platform: lab-node", "platform: lab-nod"),
        ("REF001", "23:15", "lab-nod", "a platform of the catalogue", "did you mean `lab-node`?"),
    ),
    "unknown sysctl": (
        (IMAGE, f"{TUNED}{{sysctl: {{vm.swapiness: 1}}}}"),
        ("TUNE001", "26:37", "vm.swapiness", "a sysctl of linux-6.12", "did you mean `vm.swappiness`?"),
    ),
    "huge pages in two ways": (
        (IMAGE, f"{TUNED}{{hugepages: {{2M: 4}}, sysctl: {{vm.nr_hugepages: 8}}}}"),
        (
            "TUNE003",
            "26:14",
            "hugepages {'2M': 4}, sysctl.vm.nr_hugepages 8",
            "one of them",
            "keep one; `without` takes the platform's away",
        ),
    ),
}


@pytest.mark.parametrize("command", ["check", "plan"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_it_is_refused_with_place_and_hint(
    case: tuple[tuple[str, str], tuple[str, ...]],
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copytree(CLUSTERS / "assets", tmp_path / "assets")
    (old, new), expected = case
    spec = tmp_path / "lab.yaml"
    spec.write_text((CLUSTERS / "lab.yaml").read_text().replace(old, new, 1))
    assert run([command, str(spec), "--format", "json"]) == 1
    (fault,) = (one for one in json.loads(capsys.readouterr().out)["findings"] if one["level"] == "error")
    place = f"{fault['line']}:{fault['column']}"
    assert (fault["code"], place, fault["got"], fault["expected"], fault["hint"]) == expected
