"""A run of a world, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.doubles import judging

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.runs import World


@pytest.fixture(scope="session")
def case_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[World | str], judging.Case]:
    """The run of a world, made once."""
    made: dict[str, judging.Case] = {}

    def get(world: World | str) -> judging.Case:
        if repr(world) not in made:
            made[repr(world)] = judging.case(tmp_path_factory.mktemp("run"), world)
        return made[repr(world)]

    return get
