"""Every path of a spec leads to what changing it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.findings import SpecPath
from rackwright.plan.diff import differences
from rackwright.spec.base import Change
from rackwright.spec.load import read
from rackwright.spec.policy import update_policy

if TYPE_CHECKING:
    from pathlib import Path

SPECS = [
    path for path in sorted((paths.repository() / "clusters").glob("*.yaml")) if ".lock" not in path.name
]


def leaves(value: object, path: SpecPath) -> list[SpecPath]:
    if not isinstance(value, dict):
        return [path]
    return [path, *(leaf for key, below in value.items() for leaf in leaves(below, path / key))]


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_every_path_of_the_examples_has_a_policy(spec: Path) -> None:
    values = read(spec).model_dump()
    found = leaves(values, SpecPath())[1:]
    assert len(found) > 50
    for path in found:
        assert update_policy(path, values).source


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("pools.h100", Change.IN_PLACE),
        ("pools.h100.site", Change.FORBIDDEN),
        ("pools.trn2.capacity.kind", Change.REPLACE),
        ("pools.trn2.tuning.sysctl.some", Change.ROLLING),
        ("sites.use2.vpc.cidrs", Change.REPLACE),
        ("sites.hall-a.racks.units", Change.FORBIDDEN),
        ("storage.fsx.capacity_gib", Change.IN_PLACE),
        ("storage.scratch.mount", Change.ROLLING),
    ],
)
def test_the_policy_is_that_of_the_union_member_that_is_meant(path: str, change: Change) -> None:
    values = read(paths.repository() / "clusters" / "hybrid.yaml").model_dump()
    assert update_policy(SpecPath(path.split(".")), values).change is change


def test_a_path_that_is_in_no_spec_has_none() -> None:
    with pytest.raises(KeyError):
        update_policy(SpecPath(("colour",)), {})


def test_differences_go_key_by_key_and_lists_as_a_whole() -> None:
    old = {"a": {"b": 1, "c": [1, 2]}, "gone": {"x": 1}}
    new = {"a": {"b": 2, "c": [2, 1]}, "come": 3}
    assert [(str(one.path), one.old, one.new) for one in differences(old, new)] == [
        ("a.b", 1, 2),
        ("a.c", [1, 2], [2, 1]),
        ("come", None, 3),
        ("gone", {"x": 1}, None),
    ]
