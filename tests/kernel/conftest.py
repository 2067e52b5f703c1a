"""Guests for the tests of this folder: started once for the run, given back to each test as they were."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bootstrap import guest
from rackwright.lab.netns import Namespace
from rackwright.lab.places import NETNS
from tests.kernel.guests import BRIDGES, OUTER, Guests
from tests.kernel.machine import accelerator, missing_programs
from tests.kernel.network import Network
from tests.kernel.slurm import SLURM, Slurm

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
_PREFIX = "rw-guests-"
_LONG = (
    "test_slurm.py",
    "test_nvmeof_host.py",
    "test_kernel_tuning.py",
    "test_rdma_nics.py",
    "test_nvmeof_target.py",
    "test_reboot.py",
)
"""First: two workers, each with guests of its own, take one file after the other, and end side by side."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.kernel)
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    name = item.path.name if item.path.is_relative_to(HERE) else ""
    return _LONG.index(name) if name in _LONG else len(_LONG)


def _lacking() -> str:
    """Why there can be no guests here; empty where there can."""
    if os.geteuid() != 0:
        return "guests need root"
    if absent := missing_programs():
        return f"not installed: {', '.join(absent)}; `make test-kernel` brings them"
    if not guest.current().is_dir():
        return f"`make test-kernel` has made no image at {guest.current()}"
    return ""


def _remove_stale() -> None:
    """Namespaces of runs that were killed; their guests ended with them."""
    for left in NETNS.glob(f"{_PREFIX}*"):
        if not Path("/proc", left.name.removeprefix(_PREFIX)).exists():
            Network(Namespace(left.name), BRIDGES).remove()


@pytest.fixture(scope="session")
def _network() -> Iterator[Network]:
    if reason := _lacking():
        pytest.skip(reason)
    _remove_stale()
    network = Network(Namespace(f"{_PREFIX}{os.getpid()}"), BRIDGES)
    network.make(OUTER)
    try:
        yield network
    finally:
        network.remove()


@pytest.fixture(scope="session")
def _machines(_network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guests]:
    folder = tmp_path_factory.mktemp("guests")
    kernel = guest.current() / guest.KERNEL
    guests = Guests(folder, _network, accelerator(kernel, folder))
    try:
        with _network.entered():
            guests.prepare()
            guests.boot()
        yield guests
    finally:
        guests.down()


@pytest.fixture
def guests(_machines: Guests) -> Iterator[Guests]:
    """Both guests, as after their first boot; this test's processes reach them at their addresses."""
    with _machines.network.entered():
        _machines.restore()
        yield _machines


@pytest.fixture(scope="session")
def _slurm(_machines: Guests) -> Slurm:
    """Slurm on both guests, saved once it runs: every test of it begins there."""
    slurm = Slurm(_machines)
    with _machines.network.entered():
        _machines.restore()
        slurm.set_up()
        _machines.save(SLURM)
    return slurm


@pytest.fixture
def slurm(_slurm: Slurm) -> Iterator[Slurm]:
    """Both guests with a Slurm whose node is idle."""
    with _slurm.guests.network.entered():
        _slurm.guests.restore(SLURM)
        _slurm.plan()
        _slurm.await_idle()
        yield _slurm
