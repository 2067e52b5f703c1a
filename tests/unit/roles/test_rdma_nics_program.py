"""Names, notes and removal of RDMA interfaces, with doubles of the programs that do it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.roles.programs import Host, load

if TYPE_CHECKING:
    from types import ModuleType

Values = dict[str, Any]
FIRST, SECOND = "0000:18:00.0", "0000:19:00.0"
RENAMES = """case "$*" in *" name "*) cd {net}; mv "$4" "$6" ;; esac"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    return Host(tmp_path / "bin")


@pytest.fixture
def rdma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: Host) -> ModuleType:
    module = load("rdma_nics", "rdma_nics")
    for name in ("UNIT", "NETWORKD", "SYSCTL", "KEPT", "INTERFACES", "RDMA_CM", "CONF"):
        monkeypatch.setattr(module, name, tmp_path / name.lower())
    for folder in (module.NETWORKD, module.INTERFACES):
        folder.mkdir()
    host.program("ip", RENAMES.format(net=module.INTERFACES))
    for name in ("networkctl", "sysctl", "modprobe", "systemctl"):
        host.program(name, "")
    host.program("rdma", 'case "$*" in *show*) echo \'[{"ifname": "rxe_r0", "netdev": "r0"}]\' ;; esac')
    return module


def interface(rdma: ModuleType, name: str, pci: str) -> None:
    device = rdma.INTERFACES.parent / "devices" / pci
    device.mkdir(parents=True, exist_ok=True)
    (rdma.INTERFACES / name).mkdir()
    (rdma.INTERFACES / name / "device").symlink_to(device)


def nic(name: str, pci: str | None = None, kind: str = "soft") -> dict[str, object]:
    return {
        "interface": name,
        "pci": pci,
        "address": "10.0.1.16/24",
        "network": "10.0.1.0/24",
        "mtu": 9000,
        "table": 1000,
        "kind": kind,
        "dscp": 26,
    }


def test_an_interface_is_given_its_name_without_waiting_for_a_boot(rdma: ModuleType) -> None:
    interface(rdma, "ens5", FIRST)
    plan = {"nics": [nic("r0", FIRST)]}
    rdma.refuse_strange(plan)
    rdma.rename(plan)
    assert rdma.by_pci() == {FIRST: ["r0"]}
    assert rdma.misnamed(plan) == {}


def test_two_with_one_anothers_name_change_them(rdma: ModuleType, host: Host) -> None:
    interface(rdma, "r1", FIRST)
    interface(rdma, "r0", SECOND)
    plan = {"nics": [nic("r0", FIRST), nic("r1", SECOND)]}
    rdma.refuse_strange(plan)
    rdma.rename(plan)
    assert rdma.by_pci() == {FIRST: ["r0"], SECOND: ["r1"]}
    done = len(host.calls)
    rdma.rename(plan)
    assert len(host.calls) == done, "what has its name is left alone"


def test_names_that_were_cut_off_in_between_are_given_by_the_next_run(rdma: ModuleType) -> None:
    interface(rdma, "rw0", FIRST)
    interface(rdma, "eth2", SECOND)
    plan = {"nics": [nic("r0", FIRST), nic("rw1", SECOND)]}
    rdma.refuse_strange(plan)
    rdma.rename(plan)
    assert rdma.by_pci() == {FIRST: ["r0"], SECOND: ["rw1"]}


def test_of_several_interfaces_at_one_address_the_one_that_has_its_name_is_meant(rdma: ModuleType) -> None:
    for name in ("pf0vf0", "r0", "z9"):
        interface(rdma, name, FIRST)
    plan = {"nics": [nic("r0", FIRST)]}
    rdma.refuse_strange(plan)
    assert rdma.misnamed(plan) == {}
    with pytest.raises(rdma.Refused, match=rf"^{FIRST} has 3 interfaces \(pf0vf0, r0, z9\).*hint: "):
        rdma.refuse_strange({"nics": [nic("r1", FIRST)]})


def test_the_interface_that_this_host_is_reached_by_is_never_taken_down(rdma: ModuleType, host: Host) -> None:
    interface(rdma, "ens5", FIRST)
    host.program("ip", 'case "$*" in *default*ens5) echo \'[{"dst": "default"}]\' ;; esac')
    with pytest.raises(rdma.Refused, match=r"^ens5 at .* has this host's default route.*hint: "):
        rdma.apply({"plan": {"nics": [nic("r0", FIRST)]}, "check": False})
    assert not [call for call in host.calls if " set " in call]


def test_a_name_that_another_interface_has_is_refused_before_any_change(rdma: ModuleType, host: Host) -> None:
    interface(rdma, "ens5", FIRST)
    interface(rdma, "r0", SECOND)
    with pytest.raises(rdma.Refused, match=rf"r0 is the name of the interface at {SECOND}.*hint: "):
        rdma.apply({"plan": {"nics": [nic("r0", FIRST)]}, "check": False})
    assert host.calls == []


def test_a_host_that_loses_its_last_interface_has_none_of_its_files(rdma: ModuleType, host: Host) -> None:
    before = {"nics": [nic("r0")]}
    for path, text in rdma.files(before).items():
        path.write_text(text)
    rdma.on_host.keep(rdma.KEPT, before)
    rdma.apply({"plan": {"nics": []}, "check": False})
    assert list(rdma.NETWORKD.iterdir()) == []
    assert not rdma.SYSCTL.exists()
    assert not any(call.startswith("sysctl") for call in host.calls), "its file is gone"
    assert "rdma link delete rxe_r0" in host.calls
    assert json.loads(rdma.KEPT.read_text()) == {"nics": []}


def test_a_host_without_such_interfaces_keeps_nothing_of_them_and_the_note_goes_last(
    rdma: ModuleType, host: Host
) -> None:
    before = {"nics": [nic("r0")]}
    for path, text in {**rdma.files(before), rdma.UNIT: "unit"}.items():
        path.write_text(text)
    rdma.on_host.keep(rdma.KEPT, before)
    looked = rdma.apply({"gone": True, "check": True})
    assert str(rdma.UNIT) in {one["subject"] for one in looked["drift"]}
    assert rdma.UNIT.exists()
    rdma.apply({"gone": True, "check": False})
    assert list(rdma.NETWORKD.iterdir()) == []
    assert not any(path.exists() for path in (rdma.SYSCTL, rdma.UNIT, rdma.KEPT))
    assert "rdma link delete rxe_r0" in host.calls
    assert "systemctl disable --now --quiet unit" in host.calls
    assert rdma.apply({"gone": True, "check": False}) == {"changes": [], "drift": []}


class Cut(Exception):
    """The run ends here, as a run does whose connection is lost."""


def cut_after(rdma: ModuleType, monkeypatch: pytest.MonkeyPatch, plan: Values, steps: int) -> bool:
    """Apply a plan until so many programs and files have changed something; whether it was cut off."""
    left, run, write_text = [steps], subprocess.run, Path.write_text

    def count() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Cut

    def counted_run(words: Any, **more: Any) -> Any:  # noqa: ANN401 (as subprocess has it)
        if "show" not in words:
            count()
        return run(words, **more)

    def counted_write(path: Path, text: str) -> int:
        count()
        return write_text(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", counted_run)
        patch.setattr(Path, "write_text", counted_write)
        try:
            rdma.apply({"plan": plan, "check": False})
        except Cut:
            return True
    return False


def test_a_first_run_that_is_cut_off_at_any_step_is_known_by_its_note_and_all_of_it_goes(
    rdma: ModuleType, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    interface(rdma, "r0", FIRST)
    ports = rdma.RDMA_CM / "rxe_r0" / "ports" / "1"
    ports.mkdir(parents=True)
    addressed = [{"addr_info": [{"local": "10.0.1.16", "prefixlen": 24}]}]
    host.program("ip", f"case \"$*\" in *address*) echo '{json.dumps(addressed)}' ;; esac")
    step = 0
    while cut_after(rdma, monkeypatch, {"nics": [nic("r0")]}, step):
        assert rdma.KEPT.exists(), f"cut at step {step}"
        assert rdma.kept()["nics"] == [], "a boot waits for nothing that was never brought about"
        rdma.apply({"gone": True, "check": False})
        assert list(rdma.NETWORKD.iterdir()) == []
        assert not rdma.SYSCTL.exists()
        assert host.calls.count("rdma link delete rxe_r0") == step + 1
        assert not rdma.KEPT.exists()
        step += 1
    assert step > 5, "every step was cut"
