"""Package `rackwright` for the engine: schema, configuration, and where references lead.

The resources' lives are in `server.py` (the wire) and `kinds.py` (what is done).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pulumi.provider.experimental import provider

from rackwright import __version__
from rackwright.provision.aws.nodeset.model import NODE_SET, WantedNodes
from rackwright.provision.kind import Process
from rackwright.provision.onprem.model import HOST_SET
from rackwright.provision.places import Folders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pulumi.provider.experimental.property_value import PropertyValue

PACKAGE = "rackwright"
SPEC_FOLDER, STATE_FOLDER = "specFolder", "stateFolder"
"""Configuration of the package: folders that ``file:`` and ``state:`` references are relative to."""


class Provider(provider.Provider):
    """What the engine asks of the package as a whole."""

    def __init__(self) -> None:
        self.process = Process()

    async def get_schema(self, request: provider.GetSchemaRequest) -> provider.GetSchemaResponse:
        """Name, version and configuration; the resource's form is pydantic's business."""
        del request
        return provider.GetSchemaResponse(schema=json.dumps(_SCHEMA))

    async def check_config(self, request: provider.CheckRequest) -> provider.CheckResponse:
        """Both folders are needed."""
        missing = [name for name in (SPEC_FOLDER, STATE_FOLDER) if not _text(request.new_inputs, name)]
        reason = "not configured; run `rackwright stacks init SPEC`"
        failures = [provider.CheckFailure(name, reason) for name in missing]
        return provider.CheckResponse(inputs=request.new_inputs, failures=failures)

    async def diff_config(self, request: provider.DiffRequest) -> provider.DiffResponse:
        """Leave the comparison to the engine: the SDK (3.272) sends our own answer wrongly."""
        del request
        return provider.DiffResponse()

    async def configure(self, request: provider.ConfigureRequest) -> provider.ConfigureResponse:
        """Take the folders."""
        spec, state = (_text(request.args, name) for name in (SPEC_FOLDER, STATE_FOLDER))
        self.process.configured = Folders(spec=Path(spec), state=Path(state))
        return provider.ConfigureResponse(accept_secrets=True, supports_preview=True, accept_outputs=True)

    async def cancel(self) -> None:
        """Begin no further host."""
        self.process.stop()


def _text(values: Mapping[str, PropertyValue], name: str) -> str:
    value = values[name].value if name in values else None
    return value if isinstance(value, str) else ""


_TEXT, _ANY = {"type": "string"}, {"$ref": "pulumi.json#/Any"}
_BY_SLOT = {"type": "object", "additionalProperties": _ANY}
_SCHEMA = {
    "name": PACKAGE,
    "version": __version__,
    "config": {"variables": {SPEC_FOLDER: _TEXT, STATE_FOLDER: _TEXT}},
    "resources": {
        HOST_SET: {
            "description": "At most 32 hosts of one pool, powered on over Redfish.",
            "inputProperties": {"site": _TEXT, "pool": _TEXT, "bmc": _ANY, "hosts": _BY_SLOT},
            "requiredInputs": ["site", "pool", "bmc", "hosts"],
            "properties": {"hosts": _BY_SLOT},
        },
        NODE_SET: {
            "description": "All slots of one pool, filled by instances of one launch template.",
            "inputProperties": dict.fromkeys(WantedNodes.model_fields, _ANY) | {"nodes": _BY_SLOT},
            "requiredInputs": sorted(WantedNodes.model_fields),
            "properties": {"nodes": _BY_SLOT, "orphans": _BY_SLOT},
        },
    },
}
