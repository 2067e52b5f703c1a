"""Package `rackwright` for the engine: its schema, and where references lead.

The resources' lives are in `server.py` (the wire) and `kinds.py` (what is done).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pulumi.provider.experimental import provider

from rackwright import __version__
from rackwright.provision.aws.nodeset.model import NODE_SET, WantedNodes
from rackwright.provision.kind import Process
from rackwright.provision.onprem.model import HOST_SET

if TYPE_CHECKING:
    from rackwright.provision.places import Folders

PACKAGE = "rackwright"


class Provider(provider.Provider):
    """What the engine asks of the package as a whole.

    It has no configuration: the engine keeps that in the state, which several machines may share, and asks a
    provider by what the last of them left there. Where folders are is each machine's own: its launcher says.

    Args:
        folders: what references are relative to.
    """

    def __init__(self, folders: Folders) -> None:
        self.process = Process(folders)

    async def get_schema(self, request: provider.GetSchemaRequest) -> provider.GetSchemaResponse:
        """Name and version; the resource's form is pydantic's business."""
        del request
        return provider.GetSchemaResponse(schema=json.dumps(_SCHEMA))

    async def check_config(self, request: provider.CheckRequest) -> provider.CheckResponse:
        """Nothing is needed."""
        return provider.CheckResponse(inputs=request.new_inputs)

    async def diff_config(self, request: provider.DiffRequest) -> provider.DiffResponse:
        """Leave the comparison to the engine: the SDK (3.272) sends our own answer wrongly."""
        del request
        return provider.DiffResponse()

    async def configure(self, request: provider.ConfigureRequest) -> provider.ConfigureResponse:
        """Say what it can do."""
        del request
        return provider.ConfigureResponse(accept_secrets=True, supports_preview=True, accept_outputs=True)

    async def cancel(self) -> None:
        """Begin no further host."""
        self.process.stop()


_TEXT, _ANY = {"type": "string"}, {"$ref": "pulumi.json#/Any"}
_BY_SLOT = {"type": "object", "additionalProperties": _ANY}
_SCHEMA = {
    "name": PACKAGE,
    "version": __version__,
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
