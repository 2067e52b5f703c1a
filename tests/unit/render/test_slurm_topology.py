"""Topologies that slurmctld ends with are refused before it sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.errors import RenderedInvalid, UsageError
from rackwright.plan.build import build
from rackwright.render.slurm import files
from rackwright.render.slurm_topology import refuse_topology
from rackwright.render.topology_yaml import topology_yaml
from rackwright.spec.load import load

if TYPE_CHECKING:
    from rackwright.plan.model import SlurmPlan

TREE = """SwitchName=a Nodes=n-[001-002]
SwitchName=b Nodes=n-[003-004]
SwitchName=top Switches=a,b
"""
BLOCKS = """BlockName=a Nodes=n-[001-002]
BlockName=b Nodes=n-[003-004]
BlockSizes=2,4
"""


@pytest.fixture(scope="module")
def ultra() -> SlurmPlan:
    """Trn2 UltraServers, placed by blocks."""
    spec = paths.repository() / "clusters" / "fabrics" / "trn2-ultraservers.yaml"
    return build(load(spec), load_catalogue(), None)[0].slurm["main"]


@pytest.mark.parametrize(
    "text", [TREE, BLOCKS, TREE.replace("top", "t" * 64)], ids=["tree", "blocks", "64 characters"]
)
def test_what_is_right_passes(text: str) -> None:
    refuse_topology(text)


@pytest.mark.parametrize(
    ("text", "old", "new", "got"),
    [
        (TREE, "SwitchName=a Nodes=n-[001-002]", "SwitchName=a Switches=top", "a below itself"),
        (TREE, "Switches=a,b", "Switches=", "top with nothing below it"),
        (TREE, " Switches=a,b", "", "top with nothing below it"),
        (TREE, "Switches=a,b", "Switches=a,c", "c below a switch"),
        (TREE, "SwitchName=b", "SwitchName=a", "a 2 times"),
        (TREE, "n-[003-004]", "n-[002-003]", "n-002 in 2 of them"),
        (TREE, "top", "t" * 65, "65 characters"),
        (TREE, TREE, "# nothing\n", "no switch and no block"),
        (BLOCKS, "n-[003-004]", "n-[002-003]", "n-002 in 2 of them"),
        (BLOCKS, "Nodes=n-[003-004]", "Nodes=", "b without nodes"),
        (BLOCKS, "BlockName=b", "BlockName=a", "a 2 times"),
    ],
    ids=lambda value: value[:12],
)
def test_refused(text: str, old: str, new: str, got: str) -> None:
    with pytest.raises(RenderedInvalid) as error:
        refuse_topology(text.replace(old, new))
    assert got in error.value.got


def test_a_switch_has_one_above_it() -> None:
    with pytest.raises(RenderedInvalid) as error:
        refuse_topology(f"{TREE}SwitchName=other Switches=a\n")
    assert error.value.got == "a below 2 switches"


def test_blocks_say_so_in_both_files(ultra: SlurmPlan) -> None:
    made = files(ultra)
    assert "TopologyPlugin=topology/block" in made["slurm.conf"].splitlines()
    refuse_topology(made["topology.conf"])
    with pytest.raises(UsageError):
        topology_yaml(ultra)


def test_blocks_as_yaml_for_newer_releases(ultra: SlurmPlan) -> None:
    newer = ultra.model_copy(update={"version": "25.05"})
    text = topology_yaml(newer)
    assert "No slurmctld of Slurm 25.05 has been shown to start with it" in text.splitlines()[0]
    shown = topology_yaml(ultra.model_copy(update={"version": "26.05"}))
    assert "has been shown to start with such a file" in shown.splitlines()[0]
    (topology,) = yaml.safe_load(text)
    assert topology["cluster_default"] is True
    assert topology["block"]["block_sizes"] == [4, 8, 16, 32, 64]
    assert topology["block"]["blocks"][0] == {"block": "trn2-su01", "nodes": "trn2-[001-004]"}
    assert len(topology["block"]["blocks"]) == 16


def test_several_fabrics_are_several_roots_and_named_topologies() -> None:
    """No switch is made up above two fabrics that have no cable in common."""
    spec = paths.repository() / "clusters" / "lab-hybrid.yaml"
    slurm = build(load(spec), load_catalogue(), None)[0].slurm["main"]
    assert len(slurm.spines) == 2
    newer = slurm.model_copy(update={"version": "25.11"})
    text = topology_yaml(newer)
    whole, *each = yaml.safe_load(text)
    assert {one["topology"] for one in each} == set(slurm.spines)
    assert [one["topology"] for one in (whole, *each) if one["cluster_default"]] == ["default"]
    in_each = [switch["switch"] for one in each for switch in one["tree"]["switches"]]
    assert sorted(in_each) == sorted(switch["switch"] for switch in whole["tree"]["switches"])
    for name, partition in slurm.partitions.items():
        assert (f"PartitionName={name} … Topology=" in text) == (len(partition.pools) == 1)
