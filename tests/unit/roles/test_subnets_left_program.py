"""What a host still has of subnets that it manages no more is stopped before it is taken away."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.roles.programs import Host, load

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

_SYSTEMCTL = """\
for name; do :; done
case "$1" in
    is-active) cat "{state}/$name" 2>/dev/null || {{ echo inactive; exit 3; }};;
    list-units) cd "{state}" && for one in *; do [ ! -e "$one" ] || echo "$one loaded active running"; done;;
    stop) [ ! -e "{state}/$name.stuck" ] || {{ echo 'Job failed' >&2; exit 1; }}; rm -f "{state}/$name";;
esac
"""


class Manager:
    """A host with opensm for some subnets, by its files and by a systemd that runs them."""

    def __init__(self, program: ModuleType, host: Host, root: Path) -> None:
        self.program, self.host, self.root = program, host, root
        self.running = root / "running"
        for folder in (program.UNITS / "multi-user.target.wants", program.CONFIGURED, self.running):
            folder.mkdir(parents=True)
        host.program("systemctl", _SYSTEMCTL.format(state=self.running))
        (program.UNITS / program.UNIT).touch()

    def manages(self, subnet: str, state: str = "active") -> None:
        unit = self.program.of(subnet)
        for folder in (self.program.CONFIGURED / subnet, self.program.CACHES / f"rackwright-opensm-{subnet}"):
            folder.mkdir(parents=True)
            (folder / "any").touch()
        (self.running / unit).write_text(state)
        (self.program.UNITS / "multi-user.target.wants" / unit).symlink_to(
            self.program.UNITS / self.program.UNIT
        )

    def apply(self, *subnets: str, check: bool = False) -> dict[str, Any]:
        found: dict[str, Any] = self.program.apply({"plan": {"subnets": list(subnets)}, "check": check})
        return found

    def left(self, subnet: str) -> list[str]:
        """Paths with the subnet's name."""
        found = (one.relative_to(self.root) for one in self.root.rglob("*") if "bin" not in one.parts)
        return sorted(str(one) for one in found if subnet in one.name)


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manager:
    host = Host(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(host.folder), prepend=":")
    program = load("subnet_manager", "subnets_left")
    for name in ("CONFIGURED", "UNITS", "CACHES"):
        monkeypatch.setattr(program, name, tmp_path / name.lower())
    return Manager(program, host, tmp_path)


def test_a_subnet_that_left_the_plan_is_stopped_disabled_and_taken_away(manager: Manager) -> None:
    manager.manages("compute")
    manager.manages("store")
    kept = manager.left("compute")
    answer = manager.apply("compute")
    (changed,) = answer["changes"]
    assert changed.startswith("rackwright-opensm@store.service: active -> not there")
    assert manager.left("store") == []
    assert manager.left("compute") == kept
    assert (manager.program.UNITS / manager.program.UNIT).exists()
    assert manager.apply("compute")["changes"] == []


def test_who_manages_nothing_any_more_loses_the_unit_too(manager: Manager) -> None:
    manager.manages("compute")
    assert len(manager.apply()["changes"]) == 2
    assert not (manager.program.UNITS / manager.program.UNIT).exists()
    assert manager.host.calls[-1] == "systemctl daemon-reload"
    assert manager.apply() == {"changes": [], "drift": []}


@pytest.mark.parametrize("kept", ["files", "link", "process"])
def test_each_trace_of_a_subnet_is_enough_to_be_seen(manager: Manager, kept: str) -> None:
    """A hand took the rest away, or a run was cut off."""
    manager.manages("store")
    unit = manager.program.of("store")
    if kept != "files":
        (manager.program.CONFIGURED / "store" / "any").unlink()
        (manager.program.CONFIGURED / "store").rmdir()
    if kept != "link":
        (manager.program.UNITS / "multi-user.target.wants" / unit).unlink()
    if kept != "process":
        (manager.running / unit).unlink()
    assert len(manager.apply("compute")["changes"]) == 1
    assert manager.left("store") == []


def test_files_stay_while_its_manager_does_not_stop(manager: Manager) -> None:
    """So the next run knows of it."""
    manager.manages("store", "activating")
    (manager.running / f"{manager.program.of('store')}.stuck").touch()
    with pytest.raises(
        manager.program.on_host.Refused, match=r"systemctl stop rackwright-opensm@store\.service"
    ):
        manager.apply("compute")
    assert "configured/store" in manager.left("store")


def test_check_tells_and_does_nothing(manager: Manager) -> None:
    manager.manages("store")
    before = manager.left("store")
    (told,) = manager.apply("compute", check=True)["drift"]
    assert (told["kind"], told["subject"], told["observed"]) == (
        "unit",
        "rackwright-opensm@store.service",
        "active",
    )
    assert json.dumps(told)
    assert manager.left("store") == before
