"""Debian packages: only what is missing is installed, and without root it is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bootstrap import packages, places, steps
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.bootstrap.conftest import Program

DPKG_QUERY = """
for name in "$@"; do case $name in
    half) echo "half half-configured" ;;
    removed) echo "removed config-files" ;;
    absent|-*) [ -e {installed} ] && echo "absent installed" ;;
    *) echo "$name installed" ;;
esac; done
"""


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program) -> Path:
    """Flag file: once it exists, the package `absent` is installed."""
    listing = tmp_path / "debian.txt"
    listing.write_text("# why\n\nthere   # for a test\nabsent\n")
    monkeypatch.setattr(packages, "LIST", listing)
    monkeypatch.setattr(packages, "TEST_LIST", listing)
    program("dpkg-query", DPKG_QUERY.format(installed=tmp_path / "installed"))
    program("dpkg", f"echo dpkg $@ >> {tmp_path / 'calls'}")
    program("apt-get", f"echo apt-get $@ >> {tmp_path / 'calls'}; touch {tmp_path / 'installed'}")
    return tmp_path / "installed"


def as_user(monkeypatch: pytest.MonkeyPatch, *, root: bool) -> None:
    monkeypatch.setattr(places, "is_root", lambda: root)


def test_only_an_installed_and_configured_package_counts(wanted: Path) -> None:
    assert not wanted.exists()
    assert packages.missing(["there", "half", "absent", "removed"]) == ["half", "absent", "removed"]


def test_without_root_exactly_what_is_missing_is_named(
    wanted: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_user(monkeypatch, root=False)
    with pytest.raises(EnvironmentUnfit) as caught:
        packages.install(log)
    assert caught.value.got == "missing: absent"
    assert caught.value.hint.endswith("apt-get install --no-install-recommends absent")
    assert caught.value.exit_code == 2
    assert not (wanted.parent / "calls").exists()


def test_root_installs_only_what_is_missing_and_only_once(
    wanted: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_user(monkeypatch, root=True)
    assert packages.install(log).word == "done"
    calls = (wanted.parent / "calls").read_text()
    assert calls.splitlines()[0] == "dpkg --configure -a"
    assert calls.splitlines()[-1].endswith("install --no-install-recommends absent")
    assert packages.install(log).word == "cached"
    assert (wanted.parent / "calls").read_text() == calls


def test_without_root_nothing_is_asked_for_when_nothing_is_missing(
    wanted: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted.touch()
    as_user(monkeypatch, root=False)
    assert packages.install(log).word == "cached"


def test_a_failing_apt_is_shown_with_its_last_words(
    wanted: Path, log: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not wanted.exists()
    as_user(monkeypatch, root=True)
    program("apt-get", "echo E: no such mirror; exit 100")
    with pytest.raises(EnvironmentUnfit) as caught:
        packages.install(log)
    assert "E: no such mirror" in caught.value.got
    assert caught.value.where == str(log)


def test_packages_of_tests_are_brought_once(wanted: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_user(monkeypatch, root=True)
    assert packages.install_for_tests(log).word == "done"
    assert packages.install_for_tests(log).word == "cached"
    assert (wanted.parent / "calls").read_text().count("--no-install-recommends absent") == 1


@pytest.mark.parametrize("root", [True, False])
def test_packages_of_tests_that_cannot_be_had_stop_nothing_and_are_named(
    wanted: Path, log: Path, program: Program, monkeypatch: pytest.MonkeyPatch, *, root: bool
) -> None:
    assert not wanted.exists()
    as_user(monkeypatch, root=root)
    program("apt-get", "echo E: Unable to locate package absent; exit 100")
    outcome = packages.install_for_tests(log)
    assert outcome.word == "not run"
    assert outcome.detail.endswith("tests that need these are skipped: absent")


def test_no_subnet_manager_comes_into_a_live_fabric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian starts opensm on every InfiniBand port as soon as it is installed."""
    monkeypatch.setattr(packages, "INFINIBAND", tmp_path / "infiniband")
    assert packages.SUBNET_MANAGER in packages.for_tests()
    (tmp_path / "infiniband" / "mlx5_0").mkdir(parents=True)
    without = packages.for_tests()
    assert packages.SUBNET_MANAGER not in without
    assert sorted([*without, packages.SUBNET_MANAGER]) == packages.names(packages.TEST_LIST)


def test_set_up_for_a_lab_does_not_bring_what_only_tests_need() -> None:
    assert not set(steps.FOR_TESTS) & set(steps.ALL)
    assert not set(packages.names(packages.TEST_LIST)) & set(packages.names(packages.LIST))


def test_lists_are_sorted_and_name_nothing_twice() -> None:
    for listing in (packages.LIST, packages.TEST_LIST, places.DATA / "image" / "packages.txt"):
        names = packages.names(listing)
        assert names == sorted(set(names))
        assert names
