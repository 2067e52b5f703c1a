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
GREETING = "/rackwright"
"""Path that tells whose emulator this is."""
VISIBLE_AFTER_S = 0.5
"""A new id is not found for so long: EC2 says seconds; a lab must only show that it happens."""


@dataclass(frozen=True, slots=True)
class Config:
    """The emulator of one lab.

    Args:
        cluster: whose.
        addresses: to listen on, loopback first.
        port: to listen on.
        region: of the lab's zone.
        access_key: key id that its account knows.
        secret_key: that belongs to it; nothing checks it.
        types: instance types.
        images: AMI ids that exist.
        visible_after_s: how long a new instance is not found by its id.
    """

    cluster: str
    addresses: tuple[str, ...]
    port: int
    region: str
    access_key: str
    secret_key: str
    types: tuple[InstanceType, ...]
    images: tuple[str, ...] = ()
    visible_after_s: float = VISIBLE_AFTER_S

    @property
    def urls(self) -> tuple[str, ...]:
        """Endpoints, that of loopback first."""
        return tuple(f"http://{address}:{self.port}" for address in self.addresses)

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
