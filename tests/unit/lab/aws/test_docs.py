"""docs/emulator.md lists every call and every resource with its inputs, and nothing else."""

from __future__ import annotations

import re
import warnings

from rackwright import paths
from rackwright.lab.aws.calls import ANSWERED, OURS

with warnings.catch_warnings():  # `pulumi_aws` warns of its own old names when it is first used
    warnings.simplefilter("ignore", DeprecationWarning)
    from rackwright.lab.aws.plugin.table import RESOURCES

DOCUMENT = paths.repository() / "docs" / "emulator.md"


def section(title: str) -> str:
    return DOCUMENT.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_call_is_listed_by_whose_it_is() -> None:
    told = {
        row[1]: set(re.findall(r"\b[A-Z][A-Za-z]+\b", row[2]))
        for row in re.finditer(r"^\| (.+?) \| (.+) \|$", section("Calls"), re.MULTILINE)
        if row[1] != "service"
    }
    ours = {"ec2, ours": set(OURS), "ec2, moto's": set(ANSWERED["ec2"]) - OURS}
    others = {f"{service}, moto's": set(ANSWERED[service]) for service in ANSWERED if service != "ec2"}
    assert told == ours | others


def test_every_resource_is_listed_with_its_inputs() -> None:
    rows = re.finditer(r"^\| `(aws:.+?)` \| (.+?) \|", section("Resources of the plugin"), re.MULTILINE)
    told = {row[1]: set(row[2].split(", ")) for row in rows}
    assert told == {token: set(kind.imitated) for token, kind in RESOURCES.items()}
