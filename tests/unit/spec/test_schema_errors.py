"""One mistake in a spec is one finding, at its line and column, with what to do about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import pytest
from ruamel.yaml import YAML

from rackwright.spec import faults as codes

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.findings import Finding

    Write: TypeAlias = Callable[..., Path]
    Faults: TypeAlias = Callable[[Path], list[Finding]]


class Mistake(NamedTuple):
    """A text of the lab's spec, what stands there instead, and what is said of it."""

    old: str
    new: str
    code: str
    path: str
    at: str
    """The text that the place points to."""
    got: str
    expected: str
    hint: str = ""


MISTAKES = [
    Mistake(**row)
    for row in YAML(typ="safe").load(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("one", MISTAKES, ids=lambda one: f"{one.path}-{one.code}-{one.got[:12]}")
def test_one_mistake_is_one_finding_at_its_place(one: Mistake, lab: Write, faults: Faults) -> None:
    spec = lab({one.old: one.new})
    (finding,) = faults(spec)
    assert (finding.code, str(finding.path)) == (one.code, one.path)
    assert finding.got.startswith(one.got)
    assert one.expected in finding.expected
    assert one.hint in finding.hint
    assert finding.message
    assert text_at(spec, finding).startswith(one.at)


def text_at(spec: Path, finding: Finding) -> str:
    """What stands at a finding's line and column, and after it."""
    assert finding.place is not None
    assert finding.place.file == spec
    lines = spec.read_text(encoding="utf-8").splitlines(keepends=True)
    rest = "".join(lines[finding.place.line - 1 :])
    return rest[finding.place.column - 1 :]


def test_all_mistakes_at_once_in_the_order_of_the_file(lab: Write, faults: Faults) -> None:
    spec = lab(
        {
            "name: lab,": "name: LAB,",
            "rows: 1,": "rows: 0,",
            "platform: lab-node": "platfrom: lab-node",
            "{static: 3}": "{static: three}",
            "kind: slurm": "kind: slrum",
        }
    )
    found = faults(spec)
    assert [str(one.path) for one in found] == [
        "cluster.name",
        "sites.hall.racks.rows",
        "pools.head.platfrom",
        "pools.node.nodes.static",
        "schedulers.main.kind",
    ]
    lines = [one.place.line for one in found if one.place]
    assert lines == sorted(lines)
    assert len(lines) == 5


def test_a_secret_given_by_value_is_not_shown(lab: Write, faults: Faults) -> None:
    for value in ("hunter2-canary", "7712345678", "{password: hunter2-canary}"):
        (finding,) = faults(lab({'"state:secrets/bmc.csv"': value}))
        assert finding.path[-1] == "credentials"
        assert "canary" not in repr(finding)
        assert "7712345678" not in repr(finding)
        assert "may be a secret" in finding.got


def test_a_reference_that_yaml_takes_for_a_map_is_to_be_quoted(lab: Write, faults: Faults) -> None:
    (finding,) = faults(lab({'"state:secrets/bmc.csv"': "{env: BMC}"}))
    assert finding.hint == 'one text, no space after its colon: "env:NAME"'
    (finding,) = faults(lab({'"state:secrets/bmc.csv"': "7"}))
    assert finding.hint == ""


def test_every_code_is_in_the_table_once() -> None:
    names = {name: value for name, value in vars(codes).items() if name.isupper() and isinstance(value, str)}
    assert sorted(names.values()) == sorted(codes.CODES)
    schema = {code for code in codes.CODES if "SPEC010" <= code <= "SPEC017"}
    assert {one.code for one in MISTAKES} == schema
