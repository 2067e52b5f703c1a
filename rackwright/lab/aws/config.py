"""What `lab up` writes for the emulator, and its process reads."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rackwright.lab.aws.emulation import InstanceType

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MODULE = "rackwright.lab.aws.emulator"
VISIBLE_AFTER_S = 0.5
"""A new id is not found for so long: EC2 says seconds; a lab must only show that it happens."""


@dataclass(frozen=True, slots=True)
class Config:
    """The emulator of one lab.

    Args:
        cluster: whose.
        addresses: to listen on, loopback first.
        port: to listen on.
        access_key: key id that its account knows.
        types: instance types.
        images: AMI ids that exist.
        visible_after_s: how long a new instance is not found by its id.
    """

    cluster: str
    addresses: tuple[str, ...]
    port: int
    access_key: str
    types: tuple[InstanceType, ...]
    images: tuple[str, ...] = ()
    visible_after_s: float = VISIBLE_AFTER_S

    def instance_types(self) -> Mapping[str, InstanceType]:
        """By name."""
        return {kind.name: kind for kind in self.types}

    def dumps(self) -> str:
        """Its text."""
        return json.dumps(asdict(self), indent=2, sort_keys=True, default=sorted) + "\n"

    @classmethod
    def read(cls, path: Path) -> Config:
        """Read what `dumps` wrote.

        Raises:
            OSError, ValueError, TypeError, KeyError: not there, or not that.
        """
        plain = json.loads(path.read_text())
        kinds = (
            InstanceType(**{**kind, "cards": tuple(kind["cards"]), "efa_cards": frozenset(kind["efa_cards"])})
            for kind in plain["types"]
        )
        whole = {
            **plain,
            "types": tuple(kinds),
            "addresses": tuple(plain["addresses"]),
            "images": tuple(plain["images"]),
        }
        return cls(**whole)
