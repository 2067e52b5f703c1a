"""A source that is told to a user is one that they can look up: no page that is not in this repository."""

from __future__ import annotations

import re

import pytest

from rackwright import paths
from rackwright.checks import run
from rackwright.checks.registry import rules
from rackwright.spec.base import Update
from rackwright.spec.cluster import ClusterSpec
from rackwright.spec.walk import all_models

_PAGE = re.compile(r"\b(?:docs|facts)/[\w./-]+\w|\bdesign\b")


def _pages(source: str) -> list[str]:
    return _PAGE.findall(source)


def _sources() -> dict[str, str]:
    """Every source of a rule and of a field's update policy, by whose it is."""
    assert run.RULE_MODULES, "they register the rules"
    found = {rule.code: rule.source for rule in rules()}
    for model in all_models(ClusterSpec):
        for name, field in model.model_fields.items():
            policies = [note.source for note in field.metadata if isinstance(note, Update)]
            found |= dict.fromkeys([f"{model.__name__}.{name}"] if policies else [], "; ".join(policies))
    return found


def test_pages_that_sources_name_are_here() -> None:
    lost = {
        owner: page
        for owner, source in _sources().items()
        for page in _pages(source)
        if not any(paths.repository().glob(f"{page}*"))
    }
    assert lost == {}


_LOST = re.compile(r"\bfacts/|\bdesign(?:\.md)? §")


def test_no_text_of_the_product_names_a_page_that_is_not_here() -> None:
    texts = [
        path
        for room in ("rackwright", "roles", "playbooks", "stacks", "bootstrap")
        for path in (paths.repository() / room).rglob("*")
        if path.suffix in {".py", ".yaml", ".yml", ".j2", ".md"}
    ]
    assert [str(path) for path in texts if _LOST.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("EC2 User Guide, EFA; facts/aws.md §3.1", ["facts/aws.md"]),
        ("design §4: slots are identity", ["design"]),
        ("a slot is identity (docs/decisions/0003)", ["docs/decisions/0003"]),
        ("slurm.conf(5), CPUs and RealMemory", []),
    ],
)
def test_a_page_in_a_source_is_seen(source: str, named: list[str]) -> None:
    assert _pages(source) == named
