"""What the catalogue knows of each release of Slurm: the keys that its files may have."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from rackwright.catalogue.model import Entry, Frozen


class SlurmTable(StrEnum):
    """A set of keys that one parser of Slurm knows."""

    CONF = "conf"
    NODE = "node"
    """Lines of slurm.conf that begin with NodeName."""
    PARTITION = "partition"
    CGROUP = "cgroup"
    SWITCH = "switch"
    """topology.conf of topology/tree."""
    BLOCK = "block"
    """topology.conf of topology/block."""
    GRES = "gres"
    DBD = "dbd"


class SlurmKeys(Frozen):
    """Keys of one table; Slurm does not tell upper from lower case."""

    known: Annotated[tuple[str, ...], Field(min_length=1)]
    retired: Mapping[str, str] = {}
    """Key → what to write instead; empty where nothing takes its place."""


class Slurm(Entry):
    """A release of Slurm, and the keys that its files may have."""

    os: tuple[str, ...]
    """Releases of operating systems that bring it; an image of another must say which it has."""
    keys: Mapping[SlurmTable, SlurmKeys]

    @model_validator(mode="after")
    def _has_all_tables(self) -> Self:
        missing = sorted(set(SlurmTable) - self.keys.keys())
        if missing:
            msg = f"no keys for {', '.join(missing)}"
            raise ValueError(msg)
        return self
