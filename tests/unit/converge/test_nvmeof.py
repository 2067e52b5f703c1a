"""DH-CHAP keys for a converge: read by reference, written once, for the hosts of the plan alone."""

from __future__ import annotations

import base64
import json
import stat
import zlib
from typing import TYPE_CHECKING

import pytest

from rackwright.converge.nvmeof import FILE, write_keys
from rackwright.errors import EnvironmentUnfit
from rackwright.plan.nvmeof import identity
from rackwright.plan.nvmeof_model import NvmeConnection, NvmeHost, NvmeofPlan

if TYPE_CHECKING:
    from pathlib import Path

KEY = f"DHHC-1:00:{base64.b64encode(bytes(32) + zlib.crc32(bytes(32)).to_bytes(4, 'little')).decode()}:"


@pytest.fixture
def plan() -> NvmeofPlan:
    connection = NvmeConnection(
        storage="fast",
        target="head-001",
        routes=(),
        authenticated=True,
        reconnect_s=10,
        loss_timeout_s=-1,
        policy="numa",
        namespaces=(),
        mounts=(),
    )
    host = NvmeHost(identity=identity("t.example", "node-001"), subsystems={"nqn": connection})
    return NvmeofPlan(targets={}, hosts={"node-001": host}, secrets={"fast": "state:dhchap.csv"})


def test_keys_are_written_by_nqn_for_nobody_else_to_read(plan: NvmeofPlan, tmp_path: Path) -> None:
    (tmp_path / "dhchap.csv").write_text(f"slot,host_key,controller_key\nnode-001,{KEY},\nnode-009,{KEY},\n")
    write_keys(plan, tmp_path / "secrets", tmp_path, tmp_path)
    written = tmp_path / "secrets" / FILE
    assert json.loads(written.read_text()) == {
        identity("t.example", "node-001").nqn: {"host": KEY, "controller": ""}
    }
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


def test_a_host_without_a_key_is_refused_before_any_host_is_talked_to(
    plan: NvmeofPlan, tmp_path: Path
) -> None:
    (tmp_path / "dhchap.csv").write_text("slot,host_key,controller_key\n")
    with pytest.raises(EnvironmentUnfit, match="node-001 has no DH-CHAP key"):
        write_keys(plan, tmp_path / "secrets", tmp_path, tmp_path)
    assert not (tmp_path / "secrets").exists()


def test_nothing_is_written_without_such_storage(tmp_path: Path) -> None:
    write_keys(None, tmp_path / "secrets", tmp_path, tmp_path)
    assert not (tmp_path / "secrets").exists()


def test_two_keys_of_one_host_are_refused(plan: NvmeofPlan, tmp_path: Path) -> None:
    raw = bytes([1] * 32)
    other = f"DHHC-1:00:{base64.b64encode(raw + zlib.crc32(raw).to_bytes(4, 'little')).decode()}:"
    host = plan.hosts["node-001"]
    first = host.subsystems["nqn"]
    both = {"nqn": first, "more": first.model_copy(update={"storage": "more"})}
    secrets = {"fast": "state:dhchap.csv", "more": "state:more.csv"}
    for key, name in ((KEY, "dhchap"), (other, "more")):
        (tmp_path / f"{name}.csv").write_text(f"slot,host_key,controller_key\nnode-001,{key},\n")
    asked = plan.model_copy(
        update={
            "hosts": {"node-001": host.model_copy(update={"subsystems": both})},
            "secrets": secrets,
        }
    )
    with pytest.raises(EnvironmentUnfit, match="node-001 has another DH-CHAP key here") as caught:
        write_keys(asked, tmp_path / "secrets", tmp_path, tmp_path)
    assert (caught.value.code, caught.value.where) == ("NVME015", "state:more.csv")
    assert KEY not in str(caught.value)
    (tmp_path / "more.csv").write_text((tmp_path / "dhchap.csv").read_text())
    write_keys(asked, tmp_path / "secrets", tmp_path, tmp_path)
