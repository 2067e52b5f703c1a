"""The written folder, as ssh and Ansible themselves understand it."""

from __future__ import annotations

import getpass
import grp
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from rackwright import canonical
from rackwright.errors import EnvironmentUnfit
from rackwright.inventory import files
from rackwright.inventory.collect import Wait, collect
from rackwright.inventory.model import Inventory

if TYPE_CHECKING:
    from tests.doubles.hall import Hall

ONE, TWO = "gpu-node-001", "gpu-node-002"
BIN = Path(sys.executable).parent


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "a folder" / "inventory"


def _write(hall: Hall, out: Path) -> Inventory:
    inventory = hall.inventory()
    files.write(inventory, out, hall.folder / "ssh 100%" / "ssh_ed25519")
    return inventory


def _ssh(out: Path, host: str) -> dict[str, str]:
    """What ssh would do, by its own word."""
    ran = subprocess.run(
        ["ssh", "-G", "-F", out / "ssh_config", host], capture_output=True, text=True, check=True
    )
    return dict(line.partition(" ")[::2] for line in ran.stdout.splitlines())


def _ansible(out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "ANSIBLE_CONFIG": str(out / "ansible.cfg"),
        "ANSIBLE_HOME": str(out / "home"),
        "ANSIBLE_DEPRECATION_WARNINGS": "false",
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.run(
        [BIN / arguments[0], *arguments[1:]], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", [ONE, f"{ONE}.atlas.example", "10.64.0.16"])
def test_ssh_goes_to_the_address_as_the_user_and_asks_nothing(hall: Hall, out: Path, name: str) -> None:
    _write(hall, out)
    told = _ssh(out, name)
    assert told["hostname"] == "10.64.0.16"
    assert told["user"] == "ops"
    assert told["stricthostkeychecking"] == "true"
    assert told["userknownhostsfile"] == str(out / "known_hosts")
    assert told["globalknownhostsfile"] == "/dev/null"
    assert told["identityfile"] == str(hall.folder / "ssh 100%%" / "ssh_ed25519")  # not yet expanded
    assert told["identitiesonly"] == "yes"
    assert told["updatehostkeys"] == "false"
    assert told["batchmode"] == "yes"
    assert "proxyjump" not in told


@pytest.mark.parametrize("name", [ONE, f"{ONE}.atlas.example", "10.64.0.16"])
def test_key_is_found_under_every_name_of_its_host(hall: Hall, out: Path, name: str) -> None:
    inventory = _write(hall, out)
    found = subprocess.run(
        ["ssh-keygen", "-F", name, "-f", out / "known_hosts"], capture_output=True, text=True, check=True
    )
    assert inventory.hosts[ONE].host_keys[0].key in found.stdout


def test_strangers_are_strictly_checked_too(hall: Hall, out: Path) -> None:
    _write(hall, out)
    told = _ssh(out, "stranger.example")
    assert (told["stricthostkeychecking"], told["userknownhostsfile"]) == ("true", str(out / "known_hosts"))


def test_bastion_is_jumped_through_with_the_operators_own_keys(hall: Hall, out: Path) -> None:
    hall.bastion = "ops@b1.atlas.example:2222"
    _write(hall, out)
    assert _ssh(out, ONE)["proxyjump"] == "ops@b1.atlas.example:2222"
    told = _ssh(out, "b1.atlas.example")
    assert told["stricthostkeychecking"] == "true"
    assert ".ssh/known_hosts" in told["userknownhostsfile"]
    assert "ssh 100%" not in told["identityfile"]


def test_host_that_is_the_bastion_is_not_jumped_to_through_itself(hall: Hall, out: Path) -> None:
    hall.bastion = TWO
    _write(hall, out)
    assert _ssh(out, ONE)["proxyjump"] == TWO
    told = _ssh(out, TWO)
    assert "proxyjump" not in told
    assert told["userknownhostsfile"] == str(out / "known_hosts")


def test_bastion_that_is_a_slot_without_a_key_is_refused_by_ssh(hall: Hall, out: Path) -> None:
    hall.bastion = TWO
    (hall.consoles / f"{TWO}.log").unlink()
    _write(hall, out)
    told = _ssh(out, TWO)
    assert (told["stricthostkeychecking"], told["userknownhostsfile"]) == ("true", str(out / "known_hosts"))


def test_ansible_reads_the_same_hosts_groups_and_variables_without_a_warning(hall: Hall, out: Path) -> None:
    hall.nodes, hall.with_zone = 4, True
    inventory = _write(hall, out)
    listed = _ansible(out, "ansible-inventory", "--list")
    assert (listed.returncode, listed.stderr) == (0, "")
    theirs = json.loads(listed.stdout)
    ours = files.dynamic(inventory)
    assert set(theirs["_meta"]["hostvars"]) == set(inventory.hosts)
    for group in ("onprem", "site_hall_a", "pool_gpu_node", "unit_gpu_node_u01", "rack_hall_a_r01p01"):
        assert theirs[group] == ours[group]
    assert theirs["role_slurm_controller"]["hosts"] == list(inventory.hosts)
    variables = theirs["_meta"]["hostvars"][ONE]
    assert variables["ansible_host"] == "10.64.0.16"
    assert variables["ansible_python_interpreter"] == "/usr/bin/python3"
    assert variables["rackwright_absent"]["gpu-node-004"] == "no-key: no console log"
    assert [rail["address"] for rail in variables["rackwright_rails"]] == ["10.66.0.16/16", "10.67.0.16/16"]


def test_groups_say_who_does_what_in_slurm(hall: Hall, out: Path) -> None:
    assert not [group for group in files.dynamic(_write(hall, out)) if group.startswith("slurm_")]
    hall.with_slurm = True
    _write(hall, out)
    theirs = json.loads(_ansible(out, "ansible-inventory", "--list").stdout)
    assert theirs["slurm_nodes"]["hosts"] == [ONE, TWO, "gpu-node-003"]
    assert theirs["slurm_controllers"]["hosts"] == [ONE]
    assert "slurm_accounting" not in theirs
    assert theirs["_meta"]["hostvars"][TWO]["rackwright_scheduler"] == "main"
    assert theirs["_meta"]["hostvars"][TWO]["rackwright_logins"] == "open"


def test_a_login_needs_a_job_on_hosts_that_do_nothing_but_compute(hall: Hall) -> None:
    hall.with_slurm = True
    plan = hall.plan()
    by_job = plan.slurm["main"].model_copy(update={"logins": "job"})
    inventory = collect(
        plan.model_copy(update={"slurm": {"main": by_job}}), hall.folder, Wait(0, hall.told.append)
    )
    logins = {name: host.slurm.logins for name, host in inventory.hosts.items() if host.slurm}
    assert logins == {ONE: "open", TWO: "job", "gpu-node-003": "job"}, "jobs are submitted on the controller"


def test_ansible_connects_to_no_host_without_a_key(hall: Hall, out: Path) -> None:
    for log in hall.consoles.iterdir():
        log.unlink()
    inventory = _write(hall, out)
    assert set(inventory.absent) == {ONE, TWO, "gpu-node-003"}
    ran = _ansible(out, "ansible", "all", "-m", "ping", "-vvv")
    assert "provided hosts list is empty" in ran.stderr
    assert "SSH:" not in ran.stdout
    named = _ansible(out, "ansible", ONE, "-m", "ping", "-vvv")
    assert "SSH:" not in named.stdout


def test_ansible_calls_ssh_as_written(hall: Hall, out: Path, tmp_path: Path) -> None:
    _write(hall, out)
    recorder = tmp_path / "ssh"
    recorder.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>"{tmp_path}/arguments"\nexit 255\n')
    recorder.chmod(0o755)
    _ansible(out, "ansible", ONE, "-m", "ping", "-e", f"ansible_ssh_executable={recorder}")
    called = (tmp_path / "arguments").read_text().splitlines()
    assert called[called.index("-F") + 1] == str(out / "ssh_config")
    assert "ControlMaster=auto" in called
    assert not [argument for argument in called if "StrictHostKeyChecking=no" in argument]
    (socket,) = {argument for argument in called if argument.startswith("ControlPath=")}
    assert re.search(r"/cp/[0-9a-f]{8}/[0-9a-f]{10}\"?$", socket)


def test_two_inventories_share_no_connection(hall: Hall, out: Path) -> None:
    _write(hall, out)
    _write(hall, out.parent / "other")
    first, other = ((folder / "ansible.cfg").read_text() for folder in (out, out.parent / "other"))
    assert _setting(first, "control_path_dir") != _setting(other, "control_path_dir")


def _setting(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"{name} = "))


def test_ansible_pipelines_and_checks_host_keys(hall: Hall, out: Path) -> None:
    _write(hall, out)
    dumped = _ansible(out, "ansible-config", "dump", "--only-changed", "-t", "all").stdout
    assert re.search(r"(?i)pipelining\(.*ansible\.cfg\) = True", dumped)
    listed = _ansible(out, "ansible-config", "dump").stdout
    assert re.search(r"HOST_KEY_CHECKING\(.*ansible\.cfg\) = True", listed)


def test_a_playbook_anywhere_finds_our_roles_and_modules(hall: Hall, out: Path) -> None:
    _write(hall, out)
    laid = hall.folder / "laid"
    entry = {"content": "by tree\n", "owner": getpass.getuser(), "group": grp.getgrgid(os.getgid()).gr_name}
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "roles": [{"role": "kernel_tuning", "when": False}],
        "tasks": [{"name": "Lay", "tree": {"files": {str(laid): entry}}}],
    }
    (hall.folder / "own.yml").write_text(json.dumps([play]))
    here = ["-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}"]
    ran = _ansible(out, "ansible-playbook", *here, str(hall.folder / "own.yml"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert laid.read_text() == "by tree\n"


def test_typed_form_is_written_beside_and_reads_back(hall: Hall, out: Path) -> None:
    inventory = _write(hall, out)
    assert Inventory.model_validate_json((out / "inventory.json").read_text()) == inventory


def test_same_inventory_is_the_same_bytes(hall: Hall, out: Path) -> None:
    _write(hall, out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    _write(hall, out)
    assert {path: path.read_bytes() for path in before} == before


def test_hosts_yml_is_one_line_a_host(hall: Hall, out: Path) -> None:
    _write(hall, out)
    text = (out / "hosts.yml").read_text()
    assert sum("ansible_host" in line for line in text.splitlines()) == hall.nodes
    assert set(yaml.safe_load(text)["all"]["hosts"]) == {ONE, TWO, "gpu-node-003"}


def test_secret_key_is_named_and_never_copied(hall: Hall, out: Path) -> None:
    secret = hall.folder / "ssh 100%" / "ssh_ed25519"
    canonical.write_atomic(secret, "canary-5c1f", mode=0o600)
    _write(hall, out)
    assert not [path for path in out.rglob("*") if path.is_file() and b"canary-5c1f" in path.read_bytes()]


def test_variables_of_a_kind_of_site_that_are_no_utf_8_are_told_by_their_file(
    hall: Hall, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(hall, out)
    (variables := tmp_path / "checkout" / "inventories" / "group_vars").mkdir(parents=True)
    for name in files.STATIC:
        (variables / name).write_bytes("motd: für Prüfer\n".encode("latin-1"))
    monkeypatch.setattr("rackwright.paths.repository", lambda: tmp_path / "checkout")
    with pytest.raises(EnvironmentUnfit) as caught:
        _write(hall, out)
    assert (caught.value.code, caught.value.got) == ("INV012", "no UTF-8")
    assert caught.value.where == str(variables / files.STATIC[0])
