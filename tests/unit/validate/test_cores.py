"""The readers of NVIDIA's formats stand alone: nothing but Python, frozen values, one exception."""

from __future__ import annotations

import ast
import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from rackwright.validate.parsers.core import dcgm, nccl, nccl_json, nccl_text
from rackwright.validate.parsers.core.unreadable import Unreadable

REPOSITORY = Path(__file__).parents[3]
CORE = REPOSITORY / "rackwright" / "validate" / "parsers" / "core"
CASES = REPOSITORY / "tests" / "cases"
USE = """
import sys
sys.path.insert(0, sys.argv[1])
from rackwright.validate.parsers.core import dcgm, nccl_json, nccl_text
print(nccl_text.read(open(sys.argv[2]).read())[0].ranks, "pydantic" in sys.modules)
"""


def _text(case: str) -> str:
    return (CASES / case / "input.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", sorted(CORE.glob("*.py")), ids=lambda path: path.stem)
def test_a_core_imports_nothing_but_python_and_its_neighbours(module: Path) -> None:
    names = [
        name
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
        )
    ]
    own = "rackwright.validate.parsers.core."
    assert [
        name
        for name in names
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith(own)
    ] == []


def test_cores_work_in_a_python_without_any_package() -> None:
    case = CASES / "nccl-tests" / "good" / "input.txt"
    command = [sys.executable, "-I", "-S", "-c", USE, str(REPOSITORY), str(case)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.split() == ["16", "False"]


@pytest.mark.parametrize("value", [nccl.Device(0, "node-001", 0), dcgm.Warned("a fault")])
def test_what_cores_give_cannot_be_changed(value: object) -> None:
    (name, *_) = [field.name for field in dataclasses.fields(value)]  # type: ignore[arg-type]  # (both are)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, None)


def test_every_class_of_the_cores_is_frozen() -> None:
    values = (
        nccl_text.read(_text("nccl-tests/good")),
        nccl_json.read(_text("nccl-tests/json-2")),
        dcgm.read(_text("dcgm-diag/fail-4-gpu-3")),
    )
    assert all(hash(value) for value in values)


def test_cores_raise_one_exception() -> None:
    for read in (nccl_text.read, nccl_json.read, dcgm.read):
        with pytest.raises(Unreadable):
            read("no such output")


def test_environment_in_a_document_of_nccl_tests_is_not_given_on() -> None:
    text = _text("nccl-tests/json-2")
    assert "WANDB_API_KEY" in text
    assert "0123456789abcdef" not in repr(nccl_json.read(text))


def test_start_of_a_document_tells_an_older_result() -> None:
    assert nccl_json.read(_text("nccl-tests/json-2")).start_time == "2026-11-20 10:15:00"
