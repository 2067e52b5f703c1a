"""One real lab for the whole run, and small ones for tests that break theirs."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import parts
from rackwright.lab.up import image
from tests.hosts.lab import Lab, write_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _missing() -> str:
    """Why no lab can be made here; empty where one can."""
    if os.geteuid() != 0:
        return "a lab needs root"
    if shutil.which("systemd-nspawn") is None or not (image() / "usr").is_dir():
        return f"`make setup` has made no image at {image()}"
    return ""


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The lab of the run: head-001 and node-001 to node-003, all up and off at first.

    A test may do with its hosts what it likes, and leaves it as it found it: up, whole, seeds laid out.
    """
    if reason := _missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("lab")
    lab = Lab("lab-test", write_spec(folder / "clusters", "lab-test", "10.87"), folder / "state")
    try:
        lab.up()
        lab.rackwright("plan", str(lab.spec))
        lab.prepare()
        yield lab
    finally:
        lab.down()
    assert parts.find(lab.places) == []


@pytest.fixture
def make_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], Lab]]:
    """Labs of one head and one node that are not up yet; they are gone after the test."""
    if reason := _missing():
        pytest.skip(reason)
    with contextlib.ExitStack() as labs:

        def make(name: str, prefix: str) -> Lab:
            folder = tmp_path_factory.mktemp(name)
            lab = Lab(name, write_spec(folder / "clusters", name, prefix, nodes=1), folder / "state")
            labs.callback(lab.down)
            return lab

        yield make


@pytest.fixture
def small_lab(make_lab: Callable[[str, str], Lab]) -> Lab:
    """One lab of one head and one node, not up yet."""
    return make_lab("lab-test-small", "10.88")
