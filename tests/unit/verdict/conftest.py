"""A run of a world, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.doubles import judging

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.runs import World


@pytest.fixture
def case_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[World | str], judging.Case]:
    """The run of a world."""
    return lambda world: judging.case(tmp_path_factory.mktemp("run"), world)
