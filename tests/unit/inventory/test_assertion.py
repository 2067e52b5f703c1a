"""What the first play of a converge accepts and refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from rackwright import canonical
from rackwright.errors import EnvironmentUnfit
from rackwright.inventory import assertion
from rackwright.inventory.files import hosts_yml
from rackwright.inventory.model import Host, Inventory
from rackwright.plan.observed import HostKey

if TYPE_CHECKING:
    from pathlib import Path

KEY = HostKey(type="ssh-ed25519", key="AAAAC3NzaC1lZDI1NTE5AAAAIGtleQ==")


def host(number: int) -> Host:
    return Host(
        kind="onprem", instance="",
        site="hall", pool="node", platform="lab-node", image="debian", roles=(), user="rackwright",
        bastion=None, address=f"10.0.0.{number}", addresses={}, rails=(), rack=None, unit=None,
        host_set="node-1", serial=f"S{number}", host_keys=(KEY,),
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A good inventory of two hosts."""
    hosts = {f"node-00{number}": host(number) for number in (1, 2)}
    inventory = Inventory(cluster="lab", domain="lab.internal", hosts=hosts, absent={})
    document = inventory.model_dump(mode="json", by_alias=True)
    (tmp_path / "inventory.json").write_text(canonical.dumps(document))
    (tmp_path / "hosts.yml").write_text(hosts_yml(inventory))
    return tmp_path


def refusal(folder: Path) -> EnvironmentUnfit:
    with pytest.raises(EnvironmentUnfit) as caught:
        assertion.require(folder)
    return caught.value


def test_what_was_written_is_accepted(folder: Path) -> None:
    assert sorted(assertion.require(folder).hosts) == ["node-001", "node-002"]
    assert assertion.main([str(folder)]) == 0


def test_a_line_edited_by_hand_is_named(folder: Path) -> None:
    path = folder / "hosts.yml"
    path.write_text(path.read_text().replace("10.0.0.2", "10.0.0.9"))
    number = next(
        number for number, line in enumerate(path.read_text().splitlines(), 1) if "10.0.0.9" in line
    )
    assert (refusal(folder).code, refusal(folder).where) == ("INV010", f"{path}:{number}")


def test_a_host_too_few_is_seen(folder: Path) -> None:
    path = folder / "hosts.yml"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    assert refusal(folder).code == "INV010"


def test_what_the_model_does_not_know_is_named_by_its_place(folder: Path) -> None:
    path = folder / "inventory.json"
    document = json.loads(path.read_text())
    document["hosts"]["node-002"]["adress"] = "10.0.0.2"
    path.write_text(json.dumps(document))
    error = refusal(folder)
    assert error.code == "INV011"
    assert error.where.endswith("inventory.json: hosts.node-002.adress")


@pytest.mark.parametrize("name", ["inventory.json", "hosts.yml"])
def test_a_file_that_is_gone_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert (refusal(folder).code, refusal(folder).where) == ("INV012", str(folder / name))


def test_ansible_is_told_in_one_line_what_where_and_what_to_do(folder: Path) -> None:
    (folder / "hosts.yml").write_text("{}\n")
    command = [sys.executable, "-m", "rackwright.inventory.assertion", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{folder / 'hosts.yml'}:1: INV010: ")
    assert "hint: write it anew: rackwright inventory SPEC" in done.stderr
