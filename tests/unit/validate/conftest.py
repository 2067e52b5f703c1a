"""Nodes to be asked, and a suite that is short."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.catalogue.model import Check
from rackwright.validate.asked import Asked, Node, Part, Port
from rackwright.validate.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("node-001", "node-002", "node-003")
CHECKS = frozenset(Check) - {Check.NCCL_TESTS, Check.NCCOM_TEST}


def node(name: str) -> Node:
    """A node of two rails."""
    number = int(name[-3:])
    ports = tuple(Port("compute", rail, f"r{rail}", f"10.0.{rail}.{number}") for rail in range(2))
    return Node(name, "hall", ports, 900, 0, "mgmt0", f"10.1.0.{number}", CHECKS)


@pytest.fixture
def nodes() -> list[Node]:
    return [node(name) for name in NAMES]


@pytest.fixture
def whom() -> Asked:
    """Three nodes that may be asked for everything that the lab can prove."""
    nodes = {name: node(name) for name in NAMES}
    return Asked(nodes, "head-001", (Part("all", None, NAMES),), (), {}, {}, {})


@pytest.fixture
def make_suite() -> Callable[..., Suite]:
    """A suite of these checks, given without their limits."""

    def make(*checks: dict[str, object]) -> Suite:
        return Suite.model_validate(
            {
                "name": "short",
                "title": "Short",
                "start_within_s": 5,
                "answer_within_s": 2,
                "checks": [{"limit_s": 10, "about_s": 1, **check} for check in checks],
            }
        )

    return make
