"""`rackwright fabric export`, `diff` and `prove`: what is printed, what is written, and how each ends."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest
import yaml

from rackwright import paths
from rackwright.cli.frame import run
from rackwright.plan.racks import rack_name
from rackwright.render.fabric import cutsheet, ibnetdiscover, netbox
from rackwright.render.fabric.network import Plug
from rackwright.validate.fabric import simulation
from tests.doubles import superpod

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

SPEC = str(paths.repository() / "clusters" / "onprem-dgx-h100.yaml")
LAB = str(paths.repository() / "clusters" / "lab.yaml")
AWS = str(paths.repository() / "clusters" / "aws-p5.yaml")
CABLES = 1020 + 1024 + 294 + 160


def test_a_cut_sheet_of_all_fabrics(capsys: Capture) -> None:
    assert run(["fabric", "export", SPEC, "--as", "cutsheet"]) == 0
    found = cutsheet.read(capsys.readouterr().out, "stdout")
    assert len(found) == CABLES
    assert {one.z.device.rpartition("-")[0] for one in found} == {
        "compute-leaf", "compute-spine", "storage-leaf", "storage-spine"
    }  # fmt: skip


def test_netbox_is_three_files(tmp_path: Path, capsys: Capture) -> None:
    assert run(["fabric", "export", SPEC, "--as", "netbox", "--out", str(tmp_path), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rackwright/fabric-export/1"
    assert document["files"] == {
        name: str(tmp_path / name) for name in ("cables.csv", "devices.csv", "interfaces.csv")
    }
    wires = netbox.read((tmp_path / "cables.csv").read_text(), "cables.csv")
    devices = (tmp_path / "devices.csv").read_text().splitlines()[1:]
    interfaces = (tmp_path / "interfaces.csv").read_text().splitlines()[1:]
    ends = {end for wire in wires for end in ((wire.a_device, wire.a_port), (wire.z_device, wire.z_port))}
    assert len(wires) == CABLES
    assert {line.split(",")[0] for line in devices} == {device for device, _ in ends}
    assert {tuple(line.split(",")[:2]) for line in interfaces} == ends


def test_netbox_knows_what_each_device_is_and_where_it_stands(tmp_path: Path, capsys: Capture) -> None:
    """As the cut-sheet has it, for every device that stands somewhere."""
    run(["fabric", "export", SPEC, "--as", "netbox", "--out", str(tmp_path)])
    capsys.readouterr()
    run(["fabric", "export", SPEC, "--as", "cutsheet"])
    ends = [end for one in cutsheet.read(capsys.readouterr().out, "stdout") for end in (one.a, one.z)]
    stands = {end.device: (rack_name(*end.spot[:2]), str(end.spot.unit)) for end in ends if end.spot}
    with (tmp_path / "devices.csv").open(encoding="utf-8") as lines:
        rows = {row["name"]: row for row in csv.DictReader(lines)}
    placed = {name: (row["rack"], row["position"]) for name, row in rows.items() if row["rack"]}
    assert placed == stands
    assert {row["site"] for row in rows.values()} == {"hall-a"}
    kinds = {row["role"]: (row["manufacturer"], row["device_type"]) for row in rows.values()}
    assert kinds["leaf"] == kinds["spine"] == ("NVIDIA", "NVIDIA Quantum-2 QM9700")
    assert rows["h100-001"]["device_type"] == "NVIDIA DGX H100"
    assert (rows["compute-manager"]["device_type"], rows["compute-manager"]["rack"]) == ("", "")
    with (tmp_path / "interfaces.csv").open(encoding="utf-8") as lines:
        assert {row["type"] for row in csv.DictReader(lines)} == {"infiniband-ndr"}


def test_netbox_has_each_device_in_its_own_site(tmp_path: Path, capsys: Capture) -> None:
    """Fabrics of two sites, one of them of the cloud's."""
    spec = str(paths.repository() / "clusters" / "lab-hybrid.yaml")
    assert run(["fabric", "export", spec, "--as", "netbox", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    with (tmp_path / "devices.csv").open(encoding="utf-8") as lines:
        sites = {row["name"].partition("-")[0]: row["site"] for row in csv.DictReader(lines)}
    assert set(sites.values()) == {"hall", "cloud"}
    with (tmp_path / "interfaces.csv").open(encoding="utf-8") as lines:
        assert {row["type"] for row in csv.DictReader(lines)} == {"other"}


def test_slurms_topology_is_that_of_its_files(capsys: Capture) -> None:
    assert run(["fabric", "export", SPEC, "--as", "slurm-conf"]) == 0
    text = capsys.readouterr().out
    assert "SwitchName=h100-su01 Nodes=h100-[001-032]" in text
    assert "leaf-" not in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([SPEC, "--as", "ibnetdiscover"], "compute, storage"),
        ([SPEC, "--as", "ibnetdiscover", "--fabric", "comput"], "did you mean `compute`"),
        ([LAB, "--as", "ibnetdiscover"], "of kind infiniband"),
        ([AWS, "--as", "cutsheet"], "no fabric of this spec has cables"),
    ],
)
def test_a_form_of_one_fabric_wants_one(arguments: list[str], said: str, capsys: Capture) -> None:
    assert run(["fabric", "export", *arguments]) == 2
    assert said in capsys.readouterr().err


def dump_of(tmp_path: Path, capsys: Capture) -> Path:
    run(["fabric", "export", SPEC, "--as", "ibnetdiscover", "--fabric", "compute", "--out", str(tmp_path)])
    capsys.readouterr()
    return tmp_path / "ibnetdiscover.txt"


def test_a_healthy_dump_is_good(tmp_path: Path, capsys: Capture) -> None:
    dump = dump_of(tmp_path, capsys)
    assert run(["fabric", "diff", SPEC, "--fabric", "compute", "--observed", str(dump)]) == 0
    assert capsys.readouterr().out == "2,044 cables as planned, 0 differences\n"


def test_crossed_rails_are_bad_and_the_work_order_says_what_to_do(tmp_path: Path, capsys: Capture) -> None:
    dump = dump_of(tmp_path, capsys)
    net = ibnetdiscover.read(dump.read_text(), "dump")
    one, other = (Plug(f"H-02525800000{place}", 1) for place in ("40100", "40200"))
    at_one, at_other = net.links[one].peer, net.links[other].peer
    net.join(one, at_other, "4xNDR")
    net.join(other, at_one, "4xNDR")
    dump.write_text(ibnetdiscover.write(net))
    arguments = ["fabric", "diff", SPEC, "--fabric", "compute", "--observed", str(dump), "--format", "json"]
    assert run(arguments) == 1
    document = json.loads(capsys.readouterr().out)
    (row,) = document["differences"]
    assert (row["kind"], row["where"]) == ("crossed-rails", "h100-005 HCA-1 (r01p02 u1)")
    (step,) = document["work_order"]
    assert step["plugs"] == 2
    assert all("its other plug from h100-005 HCA" in sentence for sentence in step["do"])


@pytest.mark.parametrize(
    ("content", "said"), [(None, "the dump cannot be read"), ("", "no device"), ("hello\n", "hello")]
)
def test_no_dump(tmp_path: Path, content: str | None, said: str, capsys: Capture) -> None:
    dump = tmp_path / "dump.txt"
    if content is not None:
        dump.write_text(content)
    assert run(["fabric", "diff", SPEC, "--fabric", "compute", "--observed", str(dump)]) == 2
    assert said in capsys.readouterr().err


def test_prove_without_its_programs_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.setattr(simulation, "_ADMIN", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    assert run(["fabric", "prove", SPEC, "--fabric", "compute", "--out", str(tmp_path)]) == 2
    assert "apt-get install" in capsys.readouterr().err


def test_prove_wants_a_tree(capsys: Capture) -> None:
    assert run(["fabric", "prove", LAB]) == 2
    assert "only an InfiniBand fat tree" in capsys.readouterr().err


def test_what_is_exported_is_what_opensm_is_given(tmp_path: Path, capsys: Capture) -> None:
    network = ibnetdiscover.read(dump_of(tmp_path, capsys).read_text(), "dump")
    assert sum(one.is_switch for one in network.devices.values()) == 48


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four units, planned."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    spec = tmp_path / "pod.yaml"
    write(spec, 128)
    assert run(["plan", "-q", str(spec)]) == 0
    return spec


def write(spec: Path, nodes: int) -> None:
    spec.write_text(yaml.safe_dump(superpod.values(nodes)), encoding="utf-8")


def test_a_fabric_is_built_anew_only_where_that_is_asked_for(pod: Path, capsys: Capture) -> None:
    write(pod, 160)
    lock = pod.with_name("pod.lock.yaml")
    before = lock.read_text()
    capsys.readouterr()
    assert run(["plan", str(pod), "--format", "json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["code"], finding["path"]) == ("FAB005", "fabrics.compute.topology")
    assert finding["line"] > 1
    assert "--resize" in finding["hint"]
    assert lock.read_text() == before
    assert run(["plan", str(pod), "--resize", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["fabrics"]["compute"]["tiers"] == {"leaf": 40, "spine": 32}
    assert document["totals"]["switches"] == 72
    assert run(["plan", str(pod), "-q"]) == 0


def test_nothing_is_exported_from_a_spec_that_was_not_planned_as_it_stands(
    pod: Path, capsys: Capture
) -> None:
    write(pod, 96)
    for command in (
        ["export", str(pod), "--as", "cutsheet"],
        ["prove", str(pod)],
        ["diff", str(pod), "--observed", "x"],
    ):
        capsys.readouterr()
        assert run(["fabric", *command]) == 1
        assert "PLAN001" in capsys.readouterr().err
