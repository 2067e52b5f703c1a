"""A rendered file of Slurm in, refused unless its release knows every key of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rackwright.catalogue.slurm import SlurmTable
from rackwright.catalogue.slurm_keys import judge
from rackwright.errors import RenderedInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.catalogue.slurm import Slurm

_BY_FILE = {
    "slurm.conf": {"": SlurmTable.CONF, "nodename": SlurmTable.NODE, "partitionname": SlurmTable.PARTITION},
    "cgroup.conf": {"": SlurmTable.CGROUP},
    "topology.conf": {
        "": SlurmTable.SWITCH,
        "blockname": SlurmTable.BLOCK,
        "blocksizes": SlurmTable.BLOCK,
    },
    "gres.conf": {"": SlurmTable.GRES},
    "slurmdbd.conf": {"": SlurmTable.DBD},
}
"""File → first key of a line, or none of those named → the table of all keys of that line."""
FILES = frozenset(_BY_FILE)
"""Files that have keys."""
_PAIR = re.compile(r"""\s*(?P<key>[^\s=]+)(?:\s*=\s*(?P<value>"[^"]*"|\S*))?""")
_COMMENT = re.compile(r"(?<!\\)#.*")


class Key(NamedTuple):
    """A key where it stands; the line counts from 1."""

    line: int
    name: str
    table: SlurmTable
    has_value: bool


def keys(name: str, text: str) -> Iterator[Key]:
    """Every key of a file, with the table that knows it.

    Args:
        name: of the file: ``slurm.conf``.
        text: what stands in it; a line that ends in a backslash goes on in the next.
    """
    tables = _BY_FILE[name]
    for number, line in _lines(text):
        pairs = [(match["key"], match["value"]) for match in _PAIR.finditer(_COMMENT.sub("", line).strip())]
        for key, value in pairs:
            table = tables.get(pairs[0][0].lower(), tables[""])
            yield Key(number, key, table, has_value=value is not None)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Number of the first line of each, and all of it."""
    start, parts = 1, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        start = start if parts else number
        parts.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield start, "".join(parts)
            parts = []
    if parts:
        yield start, "".join(parts)


def refuse_strange_keys(name: str, text: str, release: Slurm) -> None:
    """Check one file.

    Raises:
        RenderedInvalid: its first key that the release does not know, or no longer.
    """
    for key in keys(name, text):
        fault = judge(release.keys[key.table], key.name)
        if fault or not key.has_value:
            raise RenderedInvalid(
                f"Slurm {release.name} would not read {name}",
                where=f"{name}:{key.line}",
                got=f"{fault.problem} key {key.name}" if fault else f"{key.name} without a value",
                expected=f"a key of its table `{key.table}`, with a value",
                hint=fault.hint if fault else f"write {key.name}=…",
            )
