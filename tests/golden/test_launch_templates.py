"""Example specs of EC2, planned and previewed by the engine: golden down to the launch template."""

from __future__ import annotations

import json
import re
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.places import engine
from tests.doubles.ec2 import served
from tests.doubles.example_zone import ExampleZone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.engine
EXAMPLES = {"aws-p5": "p5", "aws-p5en": "p5en", "aws-p6-b300": "b300", "aws-trn2": "trn2"}
_SUFFIX = re.compile(r"-[0-9a-f]{7}(?=\")")
"""What the engine appends to a name that it makes up."""
_ID = re.compile(r"\b(subnet|sg|vpc)-[0-9a-f]{8,17}\b")


SLOW = ("aws-p5", "aws-trn2")
"""Half a minute each, and their templates have nothing that the others' lack."""


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in EXAMPLES]
)
def example(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ExampleZone]:
    try:
        engine()
    except EnvironmentUnfit as error:
        pytest.skip(f"{error.message}: {error.hint}")
    name = f"t{uuid.uuid4().hex[:8]}"
    with served(tmp_path) as cloud, ExampleZone(tmp_path, name, cloud, request.param) as zone:
        yield zone


def shown(zone: ExampleZone, templates: list[dict[str, Any]]) -> str:
    """An interface a line, and without what differs from run to run: names, ids, and the hosts' own seed."""
    lines: list[str] = []
    for template in templates:
        seed = template.pop("userData", None)
        rest = {**template, "networkInterfaces": len(template["networkInterfaces"]), "userData": bool(seed)}
        lines.append(json.dumps(rest, indent=1, sort_keys=True))
        lines += [f"  {json.dumps(nic, sort_keys=True)}" for nic in template["networkInterfaces"]]
    text = "\n".join(lines).replace(zone.name, "CLUSTER")
    return _SUFFIX.sub("-ID", _ID.sub(r"\1-ID", text)) + "\n"


def test_the_launch_templates(example: ExampleZone, golden: Callable[[str, str], None]) -> None:
    templates = example.previewed()
    pool = example.planned()["pools"][EXAMPLES[example.example]]
    (mine,) = [one for one in templates if one["instanceType"] == pool["platform"]]
    previewed = [
        {
            "network_card_index": nic["networkCardIndex"],
            "device_index": nic["deviceIndex"],
            "interface_type": nic["interfaceType"],
        }
        for nic in mine["networkInterfaces"]
    ]
    assert previewed == pool["nics"]
    golden(f"{example.example}/launch-templates.txt", shown(example, templates))
