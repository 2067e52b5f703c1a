"""Programs of the burn-in on the nodes: there, right, and honest where there is nothing to measure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rackwright.validate.model import Completeness, Unit
from rackwright.validate.parsers import clock, iperf3, links, matrix
from tests.roles.conftest import NODES

if TYPE_CHECKING:
    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab

PROGRAMS = "/usr/local/lib/rackwright"


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("tool", ["fio", "iperf3", "stress-ng"])
def test_tools_are_there_and_none_of_them_listens(site: Site, name: str, tool: str) -> None:
    assert site.host(name).exists(tool)
    assert not site.host(name).socket("tcp://5201").is_listening


@pytest.mark.parametrize("program", ["links", "clock", "matrix", "pair"])
def test_programs_belong_to_root_and_everybody_may_run_them(site: Site, program: str) -> None:
    file = site.host(NODES[0]).file(f"{PROGRAMS}/{program}.py")
    assert (file.user, file.group, file.mode) == ("root", "root", 0o755)


def test_links_tells_what_the_kernel_has(site: Site) -> None:
    text = site.user(f"{PROGRAMS}/links.py r0 r1 r9", NODES[0]) + "\n"
    found = {reading.context.parameters["interface"]: reading.value for reading in links.parse(text).readings}
    assert found == {"r0": True, "r1": True, "r9": False}


def test_the_matrix_product_is_the_same_on_all_nodes(site: Site) -> None:
    words = f"{PROGRAMS}/matrix.py --order 256 --seconds 0"
    hashes = set()
    for name in NODES:
        parsed = matrix.parse(site.user(words, name) + "\n")
        assert parsed.status is Completeness.COMPLETE, parsed.problem
        values = {reading.name: reading.value for reading in parsed.readings}
        assert (values["wrong"], values["mismatches"]) == (0, 0)
        hashes |= {reading.value for reading in parsed.readings if reading.unit is Unit.SHA256}
    assert len(hashes) == 1


def test_a_program_that_has_nothing_to_measure_says_so(site: Site) -> None:
    said = site.host(NODES[0]).run(f"{PROGRAMS}/links.py")
    assert said.rc == 1
    assert links.parse(said.stdout).status is Completeness.NOT_RUN


def test_clocks_of_all_nodes_in_one_step(site: Site) -> None:
    environment = "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_mpi_yield_when_idle=1"
    step = f"srun --nodes={len(NODES)} --ntasks-per-node=1 --mpi=pmix {PROGRAMS}/clock.py"
    parsed = clock.parse(site.user(f"env {environment} {step}") + "\n")
    assert parsed.status is Completeness.COMPLETE, parsed.problem
    assert {reading.context.node for reading in parsed.readings} == set(NODES)


def test_a_pair_measures_both_directions_of_a_rail(site: Site) -> None:
    ports = {name: site.lab.plan.pools["node"].slots[name].ports[0] for name in NODES[:2]}
    client, server = ((port.address or "").partition("/")[0] for port in ports.values())
    for way in ([], ["--reverse"]):
        words = [
            "--server",
            NODES[1],
            "--address",
            server,
            "--bind",
            client,
            "--port",
            "5201",
            "--seconds",
            "1",
        ]
        step = ["srun", f"--nodelist={','.join(NODES[:2])}", "--nodes=2", "--ntasks-per-node=1"]
        text = site.user(" ".join([*step, f"{PROGRAMS}/pair.py", *words, *way]))
        assert json.loads(text)["start"]["test_start"]["reverse"] == len(way)
        assert iperf3.parse(text).status is Completeness.COMPLETE
