"""The target's program on a folder that behaves as configfs does: what is linked is not taken away."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.roles.programs import Host, load

if TYPE_CHECKING:
    from types import ModuleType

Values = dict[str, Any]
DEFAULT_GROUPS = {
    "hosts": (),
    "ports": ("subsystems", "ana_groups/1"),
    "subsystems": ("namespaces", "allowed_hosts"),
}
"""What the kernel makes below a folder that somebody makes there."""


class Configfs:
    """Making and taking away folders as the kernel has it; all else of a folder is as it is."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, real = root, Path.mkdir
        for name in DEFAULT_GROUPS:
            (root / name).mkdir(parents=True)

        def mkdir(path: Path, mode: int = 0o777, **words: bool) -> None:
            real(path, mode, **words)
            groups = DEFAULT_GROUPS[path.parent.name] if path.parent.parent == self.root else ()
            for group in groups:
                real(path / group, parents=True)

        def rmdir(path: Path) -> None:
            self.take(path)

        monkeypatch.setattr(Path, "mkdir", mkdir)
        monkeypatch.setattr(Path, "rmdir", rmdir)

    def take(self, path: Path) -> None:
        links = [one for one in self.root.rglob("*") if one.is_symlink()]
        below = [one for one in path.rglob("*") if one.is_symlink()]
        if below or any(link.resolve() == path for link in links):
            raise OSError(errno.EBUSY, "Device or resource busy", str(path))
        shutil.rmtree(path)

    def tree(self) -> list[str]:
        return sorted(str(one.relative_to(self.root)) for one in self.root.rglob("*"))


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    host = Host(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(host.folder), prepend=":")
    return host


@pytest.fixture
def nvmet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: Host) -> ModuleType:
    for name, text in {"blkid": "exit 2", "findmnt": "exit 1", "modprobe": "", "ss": ""}.items():
        host.program(name, text)
    module = load("nvmeof_target", "nvmet")
    monkeypatch.setattr(module, "CONFIGFS", tmp_path / "nvmet")
    monkeypatch.setattr(module, "KEPT", tmp_path / "kept" / "nvmet.json")
    (tmp_path / "disk").touch()
    return module


@pytest.fixture
def configfs(nvmet: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Configfs:
    return Configfs(nvmet.CONFIGFS, monkeypatch)


def plan(tmp_path: Path, subsystems: dict[str, list[str]], *proven: str) -> Values:
    """Subsystem → hosts that it lets in; all on one port; hosts of those named prove who they are."""
    served = {
        name: {
            "storage": "fast",
            "serial": "s",
            "hosts": {host: f"nqn.{host}" for host in hosts},
            "authenticated": name in proven,
            "namespaces": [
                {
                    "nsid": 1,
                    "uuid": f"u-{name}",
                    "device": str(tmp_path / "disk"),
                    "ana_group": 1,
                    "holds_data": False,
                }
            ],
            "ports": [7],
        }
        for name, hosts in subsystems.items()
    }
    port = {"id": 7, "transport": "tcp", "address": "10.0.0.1", "service": 4420, "ana": {"2": "inaccessible"}}
    return {"ports": [port] if served else [], "subsystems": served}


def settled(nvmet: ModuleType, plan: Values, secret: Values | None = None) -> Values:
    answer: Values = nvmet.apply({"plan": plan, "check": False, "secret": secret})
    return answer


def test_a_target_is_as_planned_and_a_second_run_changes_nothing(
    nvmet: ModuleType, configfs: Configfs, tmp_path: Path
) -> None:
    assert settled(nvmet, plan(tmp_path, {"a": ["one"]}))["changes"]
    folder = configfs.root / "subsystems" / "a"
    assert (folder / "attr_allow_any_host").read_text() == "0"
    assert (folder / "allowed_hosts" / "nqn.one").resolve() == configfs.root / "hosts" / "nqn.one"
    assert (folder / "namespaces" / "1" / "device_path").read_text() == str(tmp_path / "disk")
    assert (folder / "namespaces" / "1" / "enable").read_text() == "1"
    assert (configfs.root / "ports" / "7" / "subsystems" / "a").resolve() == folder
    assert (configfs.root / "ports" / "7" / "ana_groups" / "2" / "ana_state").read_text() == "inaccessible"
    assert settled(nvmet, plan(tmp_path, {"a": ["one"]})) == {"changes": [], "drift": []}


def test_one_of_two_subsystems_goes_while_its_port_stays(
    nvmet: ModuleType, configfs: Configfs, tmp_path: Path
) -> None:
    settled(nvmet, plan(tmp_path, {"a": ["one"]}))
    alone = configfs.tree()
    settled(nvmet, plan(tmp_path, {"a": ["one"], "b": ["one", "two"]}))
    assert (configfs.root / "ports" / "7" / "subsystems" / "b").exists()
    settled(nvmet, plan(tmp_path, {"a": ["one"]}))
    assert configfs.tree() == alone


def test_a_host_goes_while_its_subsystem_stays(nvmet: ModuleType, configfs: Configfs, tmp_path: Path) -> None:
    settled(nvmet, plan(tmp_path, {"a": ["one", "two"]}))
    settled(nvmet, plan(tmp_path, {"a": ["two"]}))
    assert [one.name for one in (configfs.root / "hosts").iterdir()] == ["nqn.two"]
    assert [one.name for one in (configfs.root / "subsystems/a/allowed_hosts").iterdir()] == ["nqn.two"]


def test_all_goes_that_is_planned_no_more_and_nothing_that_is_not_ours(
    nvmet: ModuleType, configfs: Configfs, tmp_path: Path
) -> None:
    (configfs.root / "subsystems" / "by-hand").mkdir()
    before = configfs.tree()
    settled(nvmet, plan(tmp_path, {"a": ["one"], "b": ["two"]}))
    answer = settled(nvmet, plan(tmp_path, {}))
    assert configfs.tree() == before
    assert [one["subject"] for one in answer["drift"] if "by-hand" in one["subject"]] == ["by-hand"]


def test_a_port_goes_only_when_no_host_is_connected_to_it_any_more(
    nvmet: ModuleType, configfs: Configfs, host: Host, tmp_path: Path
) -> None:
    settled(nvmet, plan(tmp_path, {"a": ["one"]}))
    before = configfs.tree()
    line = "0 0 10.0.0.1:4420 10.0.0.2:53124"
    asked = "--no-header --tcp --numeric state established src 10.0.0.1:4420"
    host.program("ss", f'[ "$*" = "{asked}" ] && echo "{line}" && echo "{line}"')
    with pytest.raises(
        nvmet.Refused,
        match=r"^port 10\.0\.0\.1:4420: 10\.0\.0\.2 still connected; nothing was changed; hint: ",
    ):
        settled(nvmet, plan(tmp_path, {}))
    assert configfs.tree() == before
    settled(nvmet, plan(tmp_path, {"a": ["two"]}))
    host.program("ss", "")
    settled(nvmet, plan(tmp_path, {}))
    assert not list((configfs.root / "ports").iterdir())


def test_a_port_whose_address_is_not_here_is_told_with_a_hint(
    nvmet: ModuleType, configfs: Configfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.symlink_to

    def link(path: Path, to: Path) -> None:
        """The kernel listens when a port gets its first subsystem."""
        if "ports" in path.parts:
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address", str(to), None, str(path))
        real(path, to)

    monkeypatch.setattr(Path, "symlink_to", link)
    with pytest.raises(OSError, match="Cannot assign") as caught:
        settled(nvmet, plan(tmp_path, {"a": ["one"]}))
    assert caught.value.filename == str(configfs.root / "ports" / "7" / "subsystems" / "a")
    assert "is the port's address on this host" in nvmet.hint(caught.value)


class Cut(Exception):
    """The run ends here, as a run does whose connection is lost."""


def cut_at(nvmet: ModuleType, monkeypatch: pytest.MonkeyPatch, plan: Values, step: int) -> bool:
    """Settle a plan until so many things have been changed; whether it was cut off before its end."""
    left = [step]

    def counted(real: Any) -> Any:  # noqa: ANN401 (methods of any form)
        def once(path: Any, *words: Any, **more: Any) -> Any:  # noqa: ANN401
            if nvmet.CONFIGFS in Path(str(path)).parents:
                left[0] -= 1
                if left[0] < 0:
                    raise Cut
            return real(path, *words, **more)

        return once

    with monkeypatch.context() as patch:
        for name in ("mkdir", "rmdir", "symlink_to", "unlink"):
            patch.setattr(Path, name, counted(getattr(Path, name)))
        patch.setattr(nvmet.on_host, "write", counted(nvmet.on_host.write))
        try:
            settled(nvmet, plan)
        except Cut:
            return True
    return False


def test_what_a_run_leaves_that_is_cut_off_at_any_step_is_taken_away_by_another_plan(
    nvmet: ModuleType, configfs: Configfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what it had begun to make is forgotten, nor what it was to take away."""
    blank, step, cut = configfs.tree(), 0, True
    while cut:
        settled(nvmet, plan(tmp_path, {"a": ["one"], "b": ["two"]}))
        cut = cut_at(nvmet, monkeypatch, plan(tmp_path, {"c": ["two", "three"]}), step)
        settled(nvmet, plan(tmp_path, {}))
        assert configfs.tree() == blank, f"cut at step {step}"
        step += 1
    assert step > 20, "every step was cut"


def test_a_run_that_was_cut_off_at_any_step_is_gone_on_with(
    nvmet: ModuleType, configfs: Configfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = plan(tmp_path, {"a": ["two"], "c": ["three"]})
    settled(nvmet, wanted)
    whole, step, cut = configfs.tree(), 0, True
    while cut:
        settled(nvmet, plan(tmp_path, {"a": ["one"], "b": ["two"]}))
        cut = cut_at(nvmet, monkeypatch, wanted, step)
        settled(nvmet, wanted)
        assert configfs.tree() == whole, f"cut at step {step}"
        assert settled(nvmet, wanted) == {"changes": [], "drift": []}
        step += 1


def test_a_host_of_two_subsystems_has_its_key_whichever_of_them_asks_for_it(
    nvmet: ModuleType, configfs: Configfs, tmp_path: Path
) -> None:
    wanted, secret = plan(tmp_path, {"a": ["one"], "b": ["one"]}, "a"), {"nqn.one": {"host": "key"}}
    settled(nvmet, wanted, secret)
    assert (configfs.root / "hosts" / "nqn.one" / "dhchap_key").read_text() == "key"
    assert settled(nvmet, wanted, secret) == {"changes": [], "drift": []}


def test_a_port_that_somebody_else_made_is_told_and_left(
    nvmet: ModuleType, configfs: Configfs, tmp_path: Path
) -> None:
    (configfs.root / "ports" / "9").mkdir()
    (configfs.root / "ports" / "9" / "addr_traddr").write_text("10.9.9.9\n")
    settled(nvmet, plan(tmp_path, {"a": ["one"]}))
    answer = settled(nvmet, plan(tmp_path, {"a": ["one"]}))
    assert answer["changes"] == []
    assert [(one["subject"], one["observed"]) for one in answer["drift"]] == [
        ("port 10.9.9.9", "there, made by hand")
    ]


def test_a_host_that_serves_nothing_any_more_keeps_nothing_of_it(
    nvmet: ModuleType, configfs: Configfs, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvmet, "UNIT", tmp_path / "rackwright-nvmet.service")
    host.program("systemctl", "")
    blank = configfs.tree()
    settled(nvmet, plan(tmp_path, {"a": ["one"]}))
    nvmet.UNIT.touch()
    told = nvmet.apply({"gone": True, "check": True})
    assert f"{nvmet.KEPT}: there -> absent" in told["changes"]
    assert {one["subject"] for one in told["drift"]} >= {"a", "port 10.0.0.1", str(nvmet.UNIT)}
    assert nvmet.KEPT.exists()
    nvmet.apply({"gone": True, "check": False})
    assert configfs.tree() == blank
    assert not nvmet.KEPT.exists()
    assert not nvmet.UNIT.exists()
    assert "systemctl disable --now --quiet rackwright-nvmet.service" in host.calls


def test_a_first_run_that_is_cut_off_at_any_step_is_known_by_its_note_and_all_of_it_goes(
    nvmet: ModuleType, configfs: Configfs, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvmet, "UNIT", tmp_path / "rackwright-nvmet.service")
    host.program("systemctl", "")
    blank, step = configfs.tree(), 0
    while cut_at(nvmet, monkeypatch, plan(tmp_path, {"a": ["one"]}), step):
        assert nvmet.KEPT.exists(), f"cut at step {step}"
        nvmet.apply({"gone": True, "check": False})
        assert configfs.tree() == blank
        assert not nvmet.KEPT.exists()
        step += 1
    assert step > 10, "every step was cut"


def test_a_target_that_serves_nothing_yet_is_noted_too_for_its_unit_is_laid(
    nvmet: ModuleType, configfs: Configfs, tmp_path: Path
) -> None:
    del configfs
    assert settled(nvmet, plan(tmp_path, {}))["changes"]
    assert nvmet.KEPT.exists()
    assert settled(nvmet, plan(tmp_path, {}))["changes"] == []
