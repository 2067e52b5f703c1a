"""The program of the collectives on the nodes: every result is right, and a wrong one is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.validate.busbw import COLLECTIVES
from rackwright.validate.model import Completeness
from rackwright.validate.parsers import collectives
from tests.roles.conftest import NODES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab

PROGRAM = "/usr/local/lib/rackwright/collectives.py"
ENVIRONMENT = (
    "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_tcp_if_include=r0 "
    "OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_allreduce_algorithm=4"
)


def _run(site: Site, *rows: str, program: str = PROGRAM) -> str:
    step = f"srun --nodes={len(NODES)} --ntasks-per-node=1 --mpi=pmix python3 {program} --iterations 1"
    return site.user(f"env {ENVIRONMENT} {step} {' '.join(rows)}") + "\n"


@pytest.mark.parametrize("name", NODES)
def test_the_program_belongs_to_root_and_everybody_may_run_it(site: Site, name: str) -> None:
    file = site.host(name).file(PROGRAM)
    assert (file.user, file.group, file.mode) == ("root", "root", 0o755)


def test_every_collective_comes_out_right_over_one_rail(site: Site) -> None:
    parsed = collectives.parse(_run(site, *(f"{name}:65536,262144" for name in COLLECTIVES)))
    assert parsed.status is Completeness.COMPLETE, parsed.problem
    assert {reading.context.collective for reading in parsed.readings} == set(COLLECTIVES)
    assert {reading.context.nodes for reading in parsed.readings} == {NODES}
    assert {reading.value for reading in parsed.readings if reading.name == "wrong"} == {0}
    assert {reading.context.parameters["interfaces"] for reading in parsed.readings} == {"r0"}


def test_the_algorithm_that_was_asked_for_is_told(site: Site) -> None:
    parsed = collectives.parse(_run(site, "all_reduce:65536", "all_gather:65536"))
    found = {reading.context.collective: reading.context.algorithm for reading in parsed.readings}
    assert found == {"all_reduce": "ring", "all_gather": "default"}


@pytest.fixture
def liar(site: Site) -> Iterator[str]:
    """A copy of the program on node-002 that spoils one element of what it received."""
    path = "/tmp/liar/collectives.py"  # noqa: S108 (on a host of the lab)
    for name in NODES:
        host = site.host(name)
        host.check_output("mkdir -p /tmp/liar && cp /usr/local/lib/rackwright/*.py /tmp/liar/")
    spoil = r"s/^    wrong = int/    collective.received[7] += 1\n    wrong = int/"
    site.host("node-002").check_output(f"sed -i '{spoil}' {path}")
    site.host("node-002").check_output(f"grep -q 'received.7. += 1' {path}")
    yield path
    for name in NODES:
        site.host(name).check_output("rm -r /tmp/liar")


def test_one_wrong_element_on_one_rank_is_counted(site: Site, liar: str) -> None:
    parsed = collectives.parse(_run(site, "all_reduce:65536", program=liar))
    assert parsed.status is Completeness.COMPLETE, parsed.problem
    (wrong,) = [reading.value for reading in parsed.readings if reading.name == "wrong"]
    assert wrong == 2, "one in each exchange, the first one included"
