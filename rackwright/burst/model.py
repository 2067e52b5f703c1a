"""What a controller is told beside the plan: how its slots on demand are launched and entered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rackwright.plan.observed import ObservedSlot
from rackwright.provision.aws.nodeset.model import Ground
from rackwright.spec.base import Model

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: Literal["rackwright/burst/1"] = "rackwright/burst/1"
PLAN, SETTING, KEY, CREDENTIALS, BUNDLE = (
    "plan.json",
    "burst.json",
    "burst_ed25519",
    "burst-aws.ini",
    "burst.tar.gz",
)
"""Names of the files that converge makes and the role lays."""


class Setting(Model):
    """Of one scheduler."""

    schema_: Annotated[Literal["rackwright/burst/1"], Field(alias="schema")] = SCHEMA
    scheduler: str
    grounds: dict[str, Ground]
    """Pool → where and from which launch template, as the stack `aws-compute` last had it."""
    authorized_keys: tuple[str, ...]
    """Public keys that an instance lets in: the operator's, and the controller's own."""
    controllers: dict[str, ObservedSlot]
    """Host keys of the hosts that an instance's roles name."""


def read(path: Path) -> Setting:
    """Read what converge has written.

    Raises:
        OSError, ValidationError: not there, or not that.
    """
    return Setting.model_validate_json(path.read_text(encoding="utf-8"))
