"""What a controller is told beside the plan: how its slots on demand are launched and entered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rackwright import documents
from rackwright.errors import UsageError
from rackwright.plan.observed import ObservedSlot
from rackwright.provision import plan_file
from rackwright.provision.aws.nodeset.model import Ground
from rackwright.spec.base import Model

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.errors import RackwrightError
    from rackwright.plan.model import Plan

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


def read(laid: Path) -> tuple[Plan, Setting]:
    """Plan and setting that converge has laid in a folder.

    Raises:
        UsageError: one of them is not there, or not that.
    """
    try:
        setting = documents.read(Setting, laid / SETTING, "BURST002", "a setting of slots on demand")
        return plan_file.read(laid / PLAN), setting
    except UsageError as error:
        error.hint = "`rackwright converge SPEC` lays it anew"
        raise


def told(error: RackwrightError) -> str:
    """An error in a line of the journal."""
    return f"{error.code} {error.where}: {error.message}: {error.got}; {error.hint}"
