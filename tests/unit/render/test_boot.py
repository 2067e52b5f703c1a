"""A boot seed is who a host is, and holds what it needs to be reached, once."""

from __future__ import annotations

import configparser
import re
import shutil
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import jinja2
import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.render import boot
from rackwright.render.boot import seeds, site_folder
from rackwright.render.templates import render
from rackwright.spec.base import NAME_PATTERN

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.plan.model import Plan

KEYS = ("ssh-ed25519 AAAA1 one", "ssh-ed25519 AAAA2 two")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return open_cluster(paths.repository() / "clusters" / "lab.yaml").plan


@pytest.fixture(scope="module")
def files(plan: Plan) -> dict[str, str]:
    return {file.path: file.content for file in seeds(plan, KEYS)}


def _network(files: dict[str, str], path: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read_string(files[path])
    return parser


def test_a_slot_is_named_and_its_neighbours_are_known(files: dict[str, str]) -> None:
    assert files["node-002/etc/hostname"] == "node-002\n"
    hosts = [line.split() for line in files["_hall/etc/hosts"].splitlines() if line[0].isdigit()]
    assert ["10.77.0.16", "head-001.lab.internal", "head-001"] in hosts
    assert ["10.77.0.19", "node-003.lab.internal", "node-003"] in hosts
    assert len(hosts) == 5


def test_management_is_known_by_the_mac_it_boots_by(files: dict[str, str]) -> None:
    network = _network(files, "node-001/etc/systemd/network/10-management.network")
    assert dict(network["Match"]) == {"macaddress": "02:77:00:00:00:11"}
    assert (network["Network"]["address"], network["Network"]["gateway"]) == ("10.77.0.17/24", "10.77.0.1")
    assert network["Link"]["mtubytes"] == "1500"


def test_rails_are_known_by_name_and_lead_nowhere_else(files: dict[str, str]) -> None:
    network = _network(files, "node-001/etc/systemd/network/20-r1.network")
    assert dict(network["Match"]) == {"name": "r1"}
    assert network["Network"]["address"] == "10.77.17.17/24"
    assert "gateway" not in network["Network"]
    assert not any(path.startswith("head-001/") and "20-" in path for path in files)


def test_who_may_log_in_is_the_sites_user_with_all_keys(files: dict[str, str]) -> None:
    assert files["_hall/etc/ssh/authorized_keys.d/rackwright"].splitlines() == list(KEYS)
    assert files["_hall/etc/sudoers.d/rackwright"] == "rackwright ALL=(ALL) NOPASSWD: ALL\n"
    assert "PasswordAuthentication no" in files["_hall/etc/ssh/sshd_config.d/10-rackwright.conf"].splitlines()


def test_there_is_no_name_server_to_wait_for(files: dict[str, str]) -> None:
    lines = files["_hall/etc/resolv.conf"].splitlines()
    assert [line for line in lines if not line.startswith("#")] == []


def test_a_big_cluster_has_one_hosts_file(files: dict[str, str]) -> None:
    assert [path for path in files if path.endswith("etc/hosts")] == ["_hall/etc/hosts"]


def test_no_slot_has_the_name_of_a_sites_folder() -> None:

    assert re.fullmatch(NAME_PATTERN, site_folder("hall")) is None


def test_a_slot_without_a_machine_gets_no_seed_but_is_known_to_the_others(plan: Plan) -> None:
    pool = plan.pools["node"]
    slots = {**pool.slots, "node-002": pool.slots["node-002"].model_copy(update={"asset": None})}
    pools = {**plan.pools, "node": pool.model_copy(update={"slots": slots})}
    files = {file.path: file.content for file in seeds(plan.model_copy(update={"pools": pools}), KEYS)}
    assert {PurePosixPath(path).parts[0] for path in files} == {"_hall", "head-001", "node-001", "node-003"}
    assert "node-002" in files["_hall/etc/hosts"]


def test_paths_stay_below_the_boot_folder(files: dict[str, str]) -> None:
    for path in files:
        assert not PurePosixPath(path).is_absolute()
        assert ".." not in PurePosixPath(path).parts
    assert len(files) == len(set(files))


def test_all_files_end_with_one_line_end(files: dict[str, str]) -> None:
    assert {
        path for path, content in files.items() if not content.endswith("\n") or content.endswith("\n\n")
    } == set()


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="user"):
        render("boot/sudoers.j2", {})


def test_folders_of_slots_that_are_gone_go_and_nothing_else(plan: Plan, tmp_path: Path) -> None:
    gone = tmp_path / "node-009" / "etc"
    gone.mkdir(parents=True)
    (gone / "hostname").write_text("node-009\n")
    (tmp_path / "dnsmasq.conf").write_text("somebody's")
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    boot.write(plan, tmp_path, KEYS)
    there = {seed.path.partition("/")[0] for seed in seeds(plan, KEYS)}
    assert {path.name for path in tmp_path.iterdir()} == {*there, "dnsmasq.conf", "elsewhere"}


def test_a_folder_that_somebody_takes_away_meanwhile_is_gone(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rmtree = shutil.rmtree

    def twice(folder: Path) -> None:
        rmtree(folder)
        rmtree(folder)

    (tmp_path / "node-009").mkdir()
    monkeypatch.setattr(shutil, "rmtree", twice)
    boot.write(plan, tmp_path, KEYS)
    assert not (tmp_path / "node-009").exists()
