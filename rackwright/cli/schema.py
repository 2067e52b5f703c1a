"""`rackwright schema`: JSON Schema of what rackwright reads and writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.errors import GOOD
from rackwright.inventory.model import Inventory
from rackwright.plan.model import Plan
from rackwright.spec.cluster import ClusterSpec
from rackwright.validate.expectations import Expectations
from rackwright.validate.model import Measurements, Run
from rackwright.verdict.model import Verdict

if TYPE_CHECKING:
    from rackwright.cli.output import Console
    from rackwright.spec.base import Model

_MODELS: dict[str, type[Model]] = {
    "spec": ClusterSpec,
    "plan": Plan,
    "inventory": Inventory,
    "run": Run,
    "measurement": Measurements,
    "expectations": Expectations,
    "verdict": Verdict,
}


@frame.command(example="rackwright schema > cluster.schema.json")
@click.argument("kind", type=click.Choice(list(_MODELS)), default="spec")
def command(console: Console, kind: str) -> int:
    """Print the JSON Schema of a spec, a plan, an inventory, a run, measurements, expectations or a verdict.

    With --format json it also holds rackwright's own field `schema`, as every document does.
    """
    schema = _MODELS[kind].model_json_schema()
    console.result({"schema": "rackwright/schema/1", **schema}, json.dumps(schema, indent=2))
    return GOOD
