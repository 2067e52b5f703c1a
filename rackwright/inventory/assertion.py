"""An inventory folder in, nothing out: the first play of every converge asserts that it is what we wrote.

Run as ``python -m rackwright.inventory.assertion FOLDER``. `Inventory` is the only schema; hosts.yml, which
Ansible reads, must be what that model makes of inventory.json.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic import ValidationError

from rackwright.errors import EnvironmentUnfit, RackwrightError
from rackwright.inventory.files import hosts_yml, text_of
from rackwright.inventory.model import Inventory

_HINT = "write it anew: rackwright inventory SPEC"


def require(folder: Path) -> Inventory:
    """The inventory of a folder.

    Raises:
        EnvironmentUnfit: a file is missing, is not what the model says, or the two disagree.
    """
    inventory = _model(folder / "inventory.json")
    hosts = folder / "hosts.yml"
    wanted, got = hosts_yml(inventory).splitlines(), text_of(hosts, _HINT).splitlines()
    if got != wanted:
        raise EnvironmentUnfit(
            "the inventory that Ansible reads is not the one that was made",
            code="INV010",
            where=f"{hosts}:{_first_difference(got, wanted)}",
            got="a line that inventory.json does not give",
            expected="hosts.yml as `rackwright inventory` wrote it",
            hint=f"{_HINT}; what is to differ belongs into the spec or into group_vars",
        )
    return inventory


def _model(path: Path) -> Inventory:
    try:
        return Inventory.model_validate_json(text_of(path, _HINT))
    except ValidationError as error:
        first = error.errors()[0]
        raise EnvironmentUnfit(
            "the inventory is not what its model says",
            code="INV011",
            where=f"{path}: {'.'.join(map(str, first['loc']))}",
            got=f"{first['msg']} ({error.error_count()} faults in all)",
            expected="JSON of `rackwright schema inventory`",
            hint=_HINT,
        ) from None


def _first_difference(got: list[str], wanted: list[str]) -> int:
    """Number of the first line that differs, from 1."""
    same = (left == right for left, right in zip(got, wanted, strict=False))
    return next((number for number, equal in enumerate(same, 1) if not equal), min(len(got), len(wanted)) + 1)


def main(arguments: list[str]) -> int:
    """Assert, for Ansible, which shows what we write to standard error."""
    try:
        require(Path(arguments[0]))
    except RackwrightError as error:
        words = [f"{error.where}: {error.code}: {error.message}", f"got {error.got}"]
        words += [f"expected {error.expected}"] if error.expected else []
        sys.stderr.write("; ".join([*words, f"hint: {error.hint}"]) + "\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
