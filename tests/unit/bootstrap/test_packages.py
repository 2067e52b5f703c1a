from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bootstrap import packages, places
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


def test_lists_are_sorted_and_name_nothing_twice() -> None:
    for listing in (packages.LIST, places.DATA / "image" / "packages.txt"):
        names = packages.names(listing)
        assert names == sorted(set(names))
        assert names
