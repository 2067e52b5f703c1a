"""Programs of the storage roles, as far as they go without a kernel: what they refuse and what they write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.roles.programs import Host, load

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

Values = dict[str, Any]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    host = Host(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(host.folder), prepend=":")
    host.program("blkid", "exit 2")
    host.program("findmnt", "exit 1")
    return host


@pytest.fixture
def nvmet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: Host) -> ModuleType:
    del host
    module = load("nvmeof_target", "nvmet")
    monkeypatch.setattr(module, "CONFIGFS", tmp_path / "nvmet")
    monkeypatch.setattr(module, "KEPT", tmp_path / "kept" / "nvmet.json")
    return module


NQN, HOST_NQN = "nqn.2014-08.org.nvmexpress:uuid:1", "nqn.2014-08.org.nvmexpress:uuid:2"


def served(device: Path, **wishes: object) -> Values:
    """A target's plan with one namespace."""
    space = {"nsid": 1, "uuid": "u-1", "device": str(device), "ana_group": 1, "holds_data": False, **wishes}
    subsystem = {
        "storage": "fast",
        "serial": "s",
        "hosts": {"node-001": HOST_NQN},
        "authenticated": False,
        "namespaces": [space],
        "ports": [7],
    }
    port = {"id": 7, "transport": "tcp", "address": "10.0.0.1", "service": 4420, "ana": {}}
    return {"ports": [port], "subsystems": {NQN: subsystem}}


def test_a_path_that_does_not_exist_is_refused_with_its_namespace(nvmet: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(nvmet.Refused, match=r"namespace 1 \(u-1\): .*/none: No such file or directory"):
        nvmet.apply({"plan": served(tmp_path / "none"), "check": False})
    assert not nvmet.CONFIGFS.exists()


def test_a_device_that_holds_something_is_refused_unless_it_is_named(
    nvmet: ModuleType, tmp_path: Path, host: Host
) -> None:
    device = tmp_path / "disk"
    device.touch()
    host.program("blkid", "echo TYPE=xfs")
    with pytest.raises(nvmet.Refused, match=r"holds xfs; nothing was changed; hint: .*holds_data"):
        nvmet.apply({"plan": served(device), "check": True})
    answer = nvmet.apply({"plan": served(device, holds_data=True), "check": True})
    assert answer["changes"]


def test_a_namespace_that_was_served_before_may_hold_what_its_host_wrote(
    nvmet: ModuleType, tmp_path: Path, host: Host
) -> None:
    device = tmp_path / "disk"
    device.touch()
    host.program("blkid", "echo TYPE=xfs")
    assert nvmet.look(served(device)["subsystems"][NQN]["namespaces"][0], {"u-1": ""}) == ""


def test_check_mode_tells_all_that_differs_and_writes_nothing(nvmet: ModuleType, tmp_path: Path) -> None:
    device = tmp_path / "disk"
    device.touch()
    answer = nvmet.apply({"plan": served(device), "check": True})
    told = {(one["kind"], one["subject"]) for one in answer["drift"]}
    assert ("namespace", f"{NQN} 1") in told
    assert ("namespace", "port 10.0.0.1") in told
    assert not nvmet.CONFIGFS.exists()
    assert not nvmet.KEPT.exists()


def test_a_host_that_must_prove_who_it_is_and_has_no_key_is_refused(
    nvmet: ModuleType, tmp_path: Path
) -> None:
    plan = served(tmp_path / "disk")
    plan["subsystems"][NQN]["authenticated"] = True
    with pytest.raises(nvmet.Refused, match="node-001: no DH-CHAP key"):
        nvmet.apply({"plan": plan, "secret": {}, "check": False})


def test_a_subsystem_that_somebody_else_made_is_told_and_left(nvmet: ModuleType, tmp_path: Path) -> None:
    device = tmp_path / "disk"
    device.touch()
    (nvmet.CONFIGFS / "subsystems" / "nqn.by-hand").mkdir(parents=True)
    answer = nvmet.apply({"plan": served(device), "check": True})
    assert ("nqn.by-hand", "there, made by hand") in {
        (one["subject"], one["observed"]) for one in answer["drift"]
    }
    assert not any("by-hand" in change for change in answer["changes"])


def test_the_kernel_gets_the_time_outs_the_source_and_the_key_of_a_path() -> None:
    module = load("nvmeof_host", "nvme_paths")
    one = {"target": "head-001", "reconnect_s": 10, "loss_timeout_s": -1, "authenticated": True}
    path = module.Path_(NQN, "tcp", "10.0.0.1", "4420", "10.0.0.2")
    plan = {"identity": {"nqn": HOST_NQN, "id": "2"}, "subsystems": {}}
    words = module.options(path, one, plan, {"host": "DHHC-1:00:x:", "controller": ""}).split(",")
    assert words == [
        f"nqn={NQN}",
        "transport=tcp",
        "traddr=10.0.0.1",
        "trsvcid=4420",
        f"hostnqn={HOST_NQN}",
        "hostid=2",
        "reconnect_delay=10",
        "ctrl_loss_tmo=-1",
        "keep_alive_tmo=5",
        "host_traddr=10.0.0.2",
        "dhchap_secret=DHHC-1:00:x:",
    ]


def test_a_mount_is_tried_again_whenever_its_device_appears(host: Host) -> None:
    """Systemd gives a device up after 90 s, and takes no other time-out from the options of a unit."""
    host.program("systemd-escape", 'echo "$2 of $3"')
    module = load("nvmeof_host", "nvmeof_host")
    mount = {"mount": "/fast", "uuid": "1-2", "file_system": "ext4"}
    plan = {"subsystems": {NQN: {"target": "head-001", "mounts": [mount]}}}
    text = next(iter(module.units(plan).values())).text
    assert "What=/dev/disk/by-id/nvme-uuid.1-2\n" in text
    assert "WantedBy=remote-fs.target --suffix=device of /dev/disk/by-id/nvme-uuid.1-2\n" in text


def test_rdma_interfaces_have_a_name_an_address_and_a_rule_of_their_own() -> None:
    module = load("rdma_nics", "rdma_nics")
    nic = {
        "interface": "rail0",
        "pci": "0000:18:00.0",
        "address": "10.0.1.16/24",
        "network": "10.0.1.0/24",
        "mtu": 9000,
        "table": 1000,
    }
    files = {path.name: text for path, text in module.files({"nics": [nic]}).items()}
    assert "Path=pci-0000:18:00.0\n\n[Link]\nName=rail0\n" in files["05-rackwright-rail0.link"]
    network = files["05-rackwright-rail0.network"]
    assert "MTUBytes=9000\n" in network
    assert "From=10.0.1.16\nTable=1000\n" in network
    assert "Destination=10.0.1.0/24\nPreferredSource=10.0.1.16\n" in network
    assert "net.ipv4.conf.rail0.arp_ignore = 1\n" in files["62-rackwright-rdma.conf"]
