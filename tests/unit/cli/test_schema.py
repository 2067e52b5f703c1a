"""`rackwright schema`: what editors need, and one document with a `schema` like every other command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema  # type: ignore[import-untyped] # its stubs are another package
import pytest

from rackwright.cli.frame import run

if TYPE_CHECKING:
    Capture = pytest.CaptureFixture[str]


KINDS = ["spec", "plan", "inventory", "run", "measurement", "expectations", "verdict"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["text", "json"])
def test_it_is_a_json_schema(kind: str, form: str, capsys: Capture) -> None:
    assert run(["schema", kind, "--format", form]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(document)
    assert document.get("schema") == ("rackwright/schema/1" if form == "json" else None)


def test_the_spec_is_the_default_and_carries_what_editors_show(capsys: Capture) -> None:
    assert run(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert {"pools", "sites", "include"} <= schema["properties"].keys()
    assert schema["additionalProperties"] is False
    pool = schema["$defs"]["Pool"]
    assert pool["properties"]["platform"]["description"].startswith("Key into the catalogue")
    assert schema["$defs"]["Role"]["enum"][0] == "slurm-controller"


def test_a_file_of_expectations_is_held_against_its_schema(capsys: Capture) -> None:
    """What `judge --expect` refuses for its form, an editor refuses, too."""
    assert run(["schema", "expectations"]) == 0
    checker = jsonschema.Draft202012Validator(json.loads(capsys.readouterr().out))
    figure = {
        "key": {"name": "busbw", "check": "nccl-tests", "collective": "all_reduce", "size_bytes": 8589934592},
        "unit": "gb_s",
        "at_least": 450.0,
        "nominal": 480.0,
        "provenance": "operator",
        "source": "measured in hall A",
    }
    document = {"schema": "rackwright/expectations/1", "expectations": [figure]}
    assert checker.is_valid(document)
    for spoiled in ({**figure, "unit": "GB"}, {**figure, "busbw": 1}, {"key": figure["key"]}):
        assert not checker.is_valid({**document, "expectations": [spoiled]})
