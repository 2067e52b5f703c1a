"""One hall for all tests; each finds it whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.doubles.doctored import Hybrid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="package")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hybrid]:
    with Hybrid(tmp_path_factory.mktemp("doctor"), "doc", hosts=4) as made:
        yield made


@pytest.fixture
def site(hall: Hybrid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hybrid:
    """The hall with nothing lacking."""
    hall.make_whole(tmp_path / "engine", monkeypatch)
    return hall
