"""One real lab for the whole run, and small ones for tests that break theirs."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING, Protocol

import pytest

from rackwright.lab import parts, processes
from rackwright.lab.netns import Namespace
from rackwright.lab.up import image
from tests.hosts.lab import Lab, write_spec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _missing() -> str:
    """Why no lab can be made here; empty where one can."""
    if os.geteuid() != 0:
        return "a lab needs root"
    if shutil.which("systemd-nspawn") is None or not (image() / "usr").is_dir():
        return f"`make setup` has made no image at {image()}"
    return ""


@pytest.fixture(scope="session")
def can_hold_a_lab() -> None:
    """Skip what uses it where no lab can be made."""
    if reason := _missing():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def ranges() -> Iterator[Iterator[str]]:
    """Address ranges that neither this machine nor another test run on it uses: ``10.87`` and so on.

    Each is a name, too: labs of two runs are never taken for one another.
    """
    with contextlib.ExitStack() as held:

        def free() -> Iterator[str]:
            for number in range(87, 250):
                if any(route.startswith(f"10.{number}.") for route, _ in Namespace().routes()):
                    continue
                with contextlib.suppress(processes.StillHeld):
                    held.enter_context(processes.machine_wide(f"rackwright tests {number}", 0))
                    yield f"10.{number}"

        yield free()


def _make(folder: Path, prefix: str, nodes: int, name: str = "") -> Lab:
    name = name or f"lab-test-{prefix.rpartition('.')[2]}"
    return Lab(name, write_spec(folder / "clusters", name, prefix, nodes), prefix, folder / "state")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, ranges: Iterator[str]) -> Iterator[Lab]:
    """The lab of the run: head-001 and node-001 to node-003, all up and off at first.

    A test may do with its hosts what it likes, and leaves it as it found it: up, whole, seeds laid out.
    """
    if reason := _missing():
        pytest.skip(reason)
    lab = _make(tmp_path_factory.mktemp("lab"), next(ranges), nodes=3)
    try:
        lab.up()
        lab.rackwright("plan", str(lab.spec))
        lab.prepare()
        yield lab
    finally:
        lab.down()
    assert parts.find(lab.places) == []


class MakeLab(Protocol):
    """Make a lab of one head and few nodes, not up yet.

    Args:
        like: take its address range, where it is not to have its own.
        name: where it is not to be named after its range.
        nodes: beside the head.
    """

    def __call__(self, like: Lab | None = None, name: str = "", nodes: int = 1) -> Lab: ...


@pytest.fixture
def make_lab(tmp_path_factory: pytest.TempPathFactory, ranges: Iterator[str]) -> Iterator[MakeLab]:
    """Small labs; they are gone after the test."""
    if reason := _missing():
        pytest.skip(reason)
    with contextlib.ExitStack() as labs:

        def make(like: Lab | None = None, name: str = "", nodes: int = 1) -> Lab:
            prefix = like.prefix if like else next(ranges)
            lab = _make(tmp_path_factory.mktemp("small"), prefix, nodes=nodes, name=name)
            labs.callback(lab.down)
            return lab

        yield make


@pytest.fixture
def small_lab(make_lab: MakeLab) -> Lab:
    """One lab of one head and one node, not up yet."""
    return make_lab()
