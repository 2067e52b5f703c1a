"""`rackwright schema`: what editors need, and one document with a `schema` like every other command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema  # type: ignore[import-untyped] # its stubs are another package
import pytest

from rackwright.cli.frame import run

if TYPE_CHECKING:
    Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("kind", ["spec", "plan", "inventory", "measurement", "verdict"])
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
