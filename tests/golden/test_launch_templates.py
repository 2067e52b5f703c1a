"""Launch templates of the example specs, previewed by the engine: the same as the golden copies.

The copies are made by mocks (test_zones.py), for all examples and within a second; the engine shows that
nothing of a template is lost or added between a program and EC2's provider.
"""

from __future__ import annotations

import json
import re
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.places import engine
from tests.doubles.ec2 import served
from tests.doubles.example_zone import ExampleZone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.doubles.ec2 import Cloud

pytestmark = pytest.mark.engine
HERE = Path(__file__).parent
EXAMPLES = ("aws-p5", "aws-p5en", "aws-p6-b300", "aws-trn2")
QUICK = "aws-p6-b300"
"""Its first card has no EFA, and it is a capacity block; each engine takes ten seconds."""
_END = re.compile(r'-[0-9a-f]{7}(?=")')
"""Of the name of a placement group."""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    try:
        engine()
    except EnvironmentUnfit as error:
        pytest.skip(f"{error.message}: {error.hint}")
    with served(tmp_path_factory.mktemp("aws")) as emulated:
        yield emulated


@pytest.fixture(
    params=[pytest.param(name, marks=[] if name == QUICK else [pytest.mark.slow]) for name in EXAMPLES]
)
def example(request: pytest.FixtureRequest, tmp_path: Path, cloud: Cloud) -> Iterator[ExampleZone]:
    with ExampleZone(tmp_path, f"t{uuid.uuid4().hex[:8]}", cloud, request.param) as zone:
        yield zone


def test_the_launch_templates_are_the_golden_copies(example: ExampleZone) -> None:
    copies = {
        path.stem.removeprefix("launch-template-"): json.loads(path.read_text())
        for path in (HERE / example.example).glob("launch-template-*.json")
    }
    assert copies
    previewed = example.previewed()
    assert {pool: _comparable(one) for pool, one in previewed.items()} == {
        pool: _comparable(one) for pool, one in copies.items()
    }


def _comparable(template: dict[str, Any]) -> dict[str, Any]:
    """Without the cluster's own name, and what the engine makes up: names, and their ends."""
    cluster = template["tags"]["rackwright:cluster"]
    rest = {name: value for name, value in template.items() if name != "name"}
    text = re.sub(rf"\b{cluster}\b", "CLUSTER", json.dumps(rest))
    compared: dict[str, Any] = json.loads(_END.sub("", text))
    return compared
