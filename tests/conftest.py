"""Fixtures that several rungs of the ladder share."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from rackwright.catalogue.load import load as load_catalogue
from rackwright.findings import Place
from rackwright.spec.assets import Asset, AssetRow
from rackwright.spec.cluster import ClusterSpec
from rackwright.spec.load import LoadedSpec
from rackwright.spec.positions import Positions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rackwright.catalogue.load import Catalogue

pytest_plugins = [
    "tests.streams",
    "tests.hosts.fixtures",  # one lab for all tests on hosts, whichever folder they lie in
]

_NOWHERE = Path("spec.yaml")

# The same examples in every run, however busy the machine: a red test means a change, not a clock.
settings.register_profile(
    "house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")


def pytest_configure() -> None:
    """Let signals reach the commands that tests start, also where they are ignored here.

    Ctrl-C is behind ``&``, and a hang-up behind ``nohup``: that one is to go on sparing the tests themselves.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="make today's texts the golden copies")


@pytest.fixture(scope="session")
def make_loaded() -> Callable[..., LoadedSpec]:
    """A spec as if read from a file, from the values of its YAML; `delivered` slots have an asset row."""
    return _loaded


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    """The shipped one."""
    return load_catalogue()


def _loaded(values: object, delivered: Iterable[str] = ()) -> LoadedSpec:
    place = Place(_NOWHERE, 1, 1)
    assets = {slot: _asset(number) for number, slot in enumerate(delivered, 1)}
    return LoadedSpec(
        spec=ClusterSpec.model_validate(values),
        path=_NOWHERE,
        positions=Positions({}, place),
        rows={slot: AssetRow(slot, "", asset, place) for slot, asset in assets.items()},
        assets=assets,
        spec_sha256="5" * 64,
        assets_sha256="a" * 64,
    )


def _asset(number: int) -> Asset:
    tail = ":".join(f"{number >> shift & 255:02x}" for shift in (24, 16, 8, 0))
    return Asset(serial=f"S{number:06d}", bmc_mac=f"02:01:{tail}", boot_mac=f"02:00:{tail}")
