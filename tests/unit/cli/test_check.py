"""`rackwright check`: one answer with all findings, what was not run and why, and the exit code."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from rackwright import paths
from rackwright.checks.registry import rules
from rackwright.checks.run import Report, none_run
from rackwright.cli import check
from rackwright.cli.frame import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

CLUSTERS = paths.repository() / "clusters"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copytree(CLUSTERS / "assets", tmp_path / "assets")
    shutil.copy(CLUSTERS / "lab.yaml", tmp_path)
    return tmp_path / "lab.yaml"


def append(spec: Path, text: str) -> None:
    spec.write_text(spec.read_text(encoding="utf-8") + text, encoding="utf-8")


def answer(spec: Path, capsys: Capture, code: int) -> Any:  # noqa: ANN401 (a JSON document)
    assert run(["check", str(spec), "--format", "json"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_every_finding_has_all_its_fields(spec: Path, capsys: Capture) -> None:
    document = answer(spec, capsys, 0)
    assert document["schema"] == "rackwright/check/1"
    (finding,) = document["findings"]
    assert finding == {
        "code": "SLURM002",
        "level": "info",
        "path": "schedulers.main",
        "file": str(spec),
        "line": 41,
        "column": 3,
        "message": "main has no login nodes",
        "got": "no pool of hall has the role login",
        "expected": "one, where users log in",
        "hint": finding["hint"],
        "source": finding["source"],
        "suppressed": None,
    }
    assert finding["hint"]
    assert finding["source"]


def test_a_suppressed_error_stays_visible_and_weighs_nothing(spec: Path, capsys: Capture) -> None:
    spec.write_text(spec.read_text().replace("cidr: 10.77.16.0/23", "cidr: 10.77.0.0/24"))
    assert answer(spec, capsys, 1)["counts"]["error"] == 1
    append(
        spec, "suppress: [{rule: NET001, path: fabrics.compute, reason: moved in May, until: 2099-01-01}]\n"
    )
    document = answer(spec, capsys, 0)
    assert document["counts"] == {"error": 0, "warning": 0, "info": 1, "suppressed": 1, "not_run": 0}
    (tolerated,) = [one for one in document["findings"] if one["suppressed"]]
    assert tolerated["code"] == "NET001"
    assert tolerated["suppressed"] == {"reason": "moved in May", "until": "2099-01-01"}
    assert run(["check", str(spec)]) == 0
    assert "suppressed error NET001" in (shown := capsys.readouterr().out)
    assert "moved in May (until 2099-01-01)" in shown


def test_a_suppression_that_has_expired_hides_nothing(spec: Path, capsys: Capture) -> None:
    spec.write_text(spec.read_text().replace("cidr: 10.77.16.0/23", "cidr: 10.77.0.0/24"))
    append(
        spec, "suppress: [{rule: NET001, path: fabrics.compute, reason: moved in May, until: 2020-01-01}]\n"
    )
    document = answer(spec, capsys, 1)
    assert document["counts"]["error"] == 1
    assert [one["code"] for one in document["findings"]] == ["NET001", "SLURM002", "SUP002"]


def test_a_rule_on_plans_has_not_run_where_there_is_no_plan(spec: Path, capsys: Capture) -> None:
    spec.write_text(spec.read_text().replace("units: 12", "units: 1"))
    document = answer(spec, capsys, 1)
    assert {one["code"] for one in document["not_run"]} == {rule.code for rule in rules() if rule.needs_plan}
    assert all(one["reason"] for one in document["not_run"])
    assert run(["check", str(spec)]) == 1
    assert "not run: there is no plan" in capsys.readouterr().out


def test_no_rule_has_run_where_the_schema_is_broken(spec: Path, capsys: Capture) -> None:
    append(spec, "colour: red\n")
    document = answer(spec, capsys, 1)
    assert [one["code"] for one in document["findings"]] == ["SPEC011"]
    assert document["counts"]["not_run"] == len(rules())
    assert run(["check", str(spec)]) == 1
    assert f"not run: the spec breaks its schema\n  {len(rules())} rules\n" in capsys.readouterr().out


def test_what_was_not_run_is_incomplete_by_itself(
    spec: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "_report", lambda _: Report((), none_run("x")))
    assert answer(spec, capsys, 3)["counts"]["error"] == 0


def test_in_text_the_last_line_counts(spec: Path, capsys: Capture) -> None:
    assert run(["check", str(spec)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{spec}:41:3: info SLURM002: main has no login nodes\n  got       no pool")
    assert out.endswith(f"{spec}: 0 error, 0 warning, 1 info, 0 suppressed, 0 not run\n")


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], object]]:
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, below in items:
            yield from leaves(below, (*path, key))
    else:
        yield path, value


def uses(example: str) -> Iterator[tuple[str | int, ...]]:
    """Paths of an example at which a name defined elsewhere in it stands."""
    values = YAML(typ="safe").load(CLUSTERS / f"{example}.yaml")
    named = {name for kind in ("sites", "pools", "images", "fabrics") for name in values.get(kind, {})}
    for path, value in leaves(values):
        if value in named and path[-1] not in {"kind", "os"}:
            yield path


USES = [
    (example, path) for example in ("lab", "hybrid", "onprem-dgx-h100", "aws-p5") for path in uses(example)
]


@pytest.mark.parametrize(
    ("example", "path"), USES, ids=lambda one: ".".join(map(str, one)) if isinstance(one, tuple) else one
)
def test_a_misspelt_name_is_one_finding_whoever_stumbles_over_it(
    example: str, path: tuple[str | int, ...], spec: Path, capsys: Capture
) -> None:
    values = YAML(typ="safe").load(CLUSTERS / f"{example}.yaml")
    here = values
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] += "x"
    with spec.open("w", encoding="utf-8") as file:
        YAML().dump(values, file)
    document = answer(spec, capsys, 1)
    found = [one for one in document["findings"] if one["level"] == "error"]
    assert [one["path"] for one in found] == [".".join(map(str, path))]
    assert "did you mean" in found[0]["hint"]


def test_there_are_names_to_misspell() -> None:
    assert len(USES) > 40
