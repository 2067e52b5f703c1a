"""The rendered configuration run by the real opensm on ibsim: what it takes, and what it must not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.frame import run
from rackwright.errors import EnvironmentUnfit, Incomplete
from rackwright.render.fabric.network import Link, Network, Plug, hca_name, network
from rackwright.validate.fabric import simulation
from rackwright.validate.fabric.prove import prove

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.model import Plan

    Pod = Callable[..., Plan]

pytestmark = pytest.mark.usefixtures("tools")
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("units", "switches"),
    [(1, 12), (4, 48), (16, 320), pytest.param(64, 1280, marks=SLOW)],
    ids=str,
)
def test_whole_units_are_taken_as_a_fat_tree(pod: Pod, tmp_path: Path, units: int, switches: int) -> None:
    """16 units are three tiers, and more nodes and ports than ibsim has room for by default."""
    proof = prove(pod(units * 32), "compute", 1, tmp_path)
    assert (proof.routing, proof.accepted, proof.refusals) == ("ftree", True, ())
    assert (proof.adapters, proof.switches) == (units * 256, switches)


def test_the_hole_of_the_fabric_manager_is_no_fault(pod: Pod, tmp_path: Path) -> None:
    proof = prove(pod(31, manager_uplinks=4), "compute", 1, tmp_path)
    assert (proof.accepted, proof.adapters) == (True, 252)


def test_the_folder_may_be_a_relative_one(pod: Pod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert prove(pod(31, manager_uplinks=4), "compute", 1, Path("proof")).accepted


def test_what_a_killed_manager_leaves_lies_in_that_folder(
    pod: Pod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation's library keeps a tree of files where it runs, until it comes to a good end."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "opensm").write_text("#!/bin/sh\nmkdir sys-1\n")
    (tmp_path / "bin" / "opensm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(Incomplete):
        prove(pod(31, manager_uplinks=4), "compute", 1, tmp_path / "proof")
    assert (tmp_path / "proof" / "sys-1").is_dir()
    assert not (tmp_path / "sys-1").exists()


@pytest.mark.parametrize("attach", ["tor", "dual-tor"])
def test_other_attachments_are_taken(pod: Pod, tmp_path: Path, attach: str) -> None:
    plan = pod(16, attach=attach, unit_nodes=4)
    assert prove(plan, "compute", 1, tmp_path).accepted


def test_each_plane_is_a_network_of_its_own(pod: Pod, tmp_path: Path) -> None:
    plan = pod(32, planes=2)
    for plane in (1, 2):
        proof = prove(plan, "compute", plane, tmp_path / str(plane))
        assert (proof.accepted, proof.adapters, proof.switches) == (True, 256, 12)


def plug(net: Network, name: str, port: int) -> Plug:
    return Plug(next(one.id for one in net.devices.values() if one.name == name), port)


def test_an_adapter_on_a_spine_is_refused_though_opensm_ends_well(pod: Pod, tmp_path: Path) -> None:
    """It says SUBNET UP and exits with 0 all the same."""
    plan = pod(64)
    net = network(plan, "compute")
    adapter, leaf = plug(net, hca_name("gpu-001", 1), 1), plug(net, "compute-leaf-001", 33)
    spine = net.links.pop(leaf).peer
    freed = net.links.pop(adapter).peer
    net.join(adapter, spine, "4xNDR")
    del net.links[freed]
    proof = prove(plan, "compute", 1, tmp_path, net)
    assert (proof.routing, proof.accepted) == ("minhop", False)
    assert any("rank" in refusal for refusal in proof.refusals), proof.refusals
    assert "SUBNET UP" in proof.log.read_text()


def test_crossed_rails_are_taken_by_opensm(pod: Pod, tmp_path: Path) -> None:
    """The reason for `fabric diff`: no routing engine sees them."""
    plan = pod(64)
    net = network(plan, "compute")
    one, other = plug(net, hca_name("gpu-001", 1), 1), plug(net, hca_name("gpu-001", 2), 1)
    at_one, at_other = net.links[one].peer, net.links[other].peer
    net.join(one, at_other, "4xNDR")
    net.join(other, at_one, "4xNDR")
    assert prove(plan, "compute", 1, tmp_path, net).accepted


def test_a_part_that_hangs_on_nothing_is_not_accepted(pod: Pod, tmp_path: Path) -> None:
    """opensm routes what it reaches, and is content with that; we count."""
    plan = pod(64)
    net = network(plan, "compute")
    leaf = plug(net, "compute-leaf-016", 1).device
    for port in range(33, 65):
        peer = net.links.pop(Plug(leaf, port)).peer
        del net.links[peer]
    proof = prove(plan, "compute", 1, tmp_path, net)
    assert not proof.accepted
    assert (proof.adapters, proof.switches) == (512 - 32, 23)


def test_the_command_on_a_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The configuration takes the GUIDs of what was found, by the names of devices."""
    spec = str(paths.repository() / "clusters" / "hybrid.yaml")
    run(["fabric", "export", spec, "--as", "ibnetdiscover", "--out", str(tmp_path)])
    dump = tmp_path / "ibnetdiscover.txt"
    dump.write_text(dump.read_text().replace("0252570201000001", "b83fd20300aa0001"))
    capsys.readouterr()
    arguments = ["fabric", "prove", spec, "--observed", str(dump), "--out", str(tmp_path), "--format", "json"]
    assert run(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["routing"], document["accepted"]) == ("ftree", True)
    assert "0xb83fd20300aa0001\n" in (tmp_path / "compute-p1" / "root_guids.txt").read_text()


def test_a_dump_is_kept_once_it_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What opensm's host is then given is what was run, but for where it lies and by which port."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    spec = paths.repository() / "clusters" / "hybrid.yaml"
    run(["fabric", "export", str(spec), "--as", "ibnetdiscover", "--out", str(tmp_path)])
    dump = tmp_path / "ibnetdiscover.txt"
    asked = ["fabric", "prove", str(spec), "--observed", str(dump), "--keep", "--out", str(tmp_path)]
    assert run(asked) == 0
    assert run(["render", str(spec), "--out", str(tmp_path / "out")]) == 0
    proven, laid = tmp_path / "compute-p1", tmp_path / "out" / "subnet_manager" / "mgmt-001" / "compute"
    of_the_unit = {"opensm.env"}
    assert {path.name for path in laid.iterdir()} - of_the_unit <= {path.name for path in proven.iterdir()}
    for name in ("root_guids.txt", "cn_guids.txt", "partitions.conf"):
        assert (laid / name).read_text() == (proven / name).read_text()
    there = "/etc/rackwright/opensm/compute"
    log = "/var/log/rackwright-opensm/compute.log"
    moved = (proven / "opensm.conf").read_text().replace(str(proven / "opensm.log"), log)
    assert (laid / "opensm.conf").read_text().splitlines() == [
        line for line in moved.replace(str(proven), there).splitlines() if not line.startswith("guid 0x")
    ]
    capsys.readouterr()
    assert run(["fabric", "prove", str(spec), "--keep"]) == 2
    assert "--keep" in capsys.readouterr().err


def test_a_network_that_ibsim_does_not_take_is_no_answer(
    pod: Pod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "size", lambda _: ["-N", "20", "-S", "12", "-P", "900"])
    with pytest.raises(Incomplete) as caught:
        prove(pod(32), "compute", 1, tmp_path)
    assert "ibsim" in caught.value.message


def test_an_engine_that_is_not_there_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "_ADMIN", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentUnfit) as caught:
        simulation.program("opensm")
    assert "apt-get install" in caught.value.hint


def test_links_know_both_ends(pod: Pod) -> None:
    net = network(pod(32), "compute")
    assert all(net.links[link.peer] == Link(here, link.speed) for here, link in net.links.items())
