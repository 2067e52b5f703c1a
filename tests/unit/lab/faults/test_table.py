"""Every fault says what it is, and has subjects in the example; the documentation lists them all."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.lab.faults import subjects
from rackwright.lab.faults.files import FilesFault
from rackwright.lab.faults.subjects import SubjectKind
from rackwright.lab.faults.table import FAULTS

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.lab.faults.fault import Fault
    from rackwright.lab.model import World

EVERY = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)


@EVERY
def test_a_fault_is_found_by_its_name_and_explains_itself(fault: Fault, cloud_world: World) -> None:
    assert FAULTS[fault.name] is fault
    assert fault.name not in ("list", "clear")
    assert fault.does
    assert fault.shows.startswith(("FAIL of ", "ERROR of ", "NOT_RUN of ", "nothing: "))
    assert subjects.find(cloud_world, fault.kind, subjects.EXAMPLES[fault.kind])


@EVERY
def test_a_fault_is_in_the_documentation_with_its_own_words(fault: Fault) -> None:
    page = (paths.repository() / "docs" / "lab.md").read_text()
    assert f"| `{fault.name} {fault.kind.upper()}` | {fault.does} | {fault.shows} |" in page


def test_a_slot_means_its_last_rail(world: World) -> None:
    assert subjects.find(world, SubjectKind.RAIL, "node-002") == "node-002/r1"
    assert subjects.find(world, SubjectKind.RAIL, "node-002/r0") == "node-002/r0"
    assert subjects.rail(world, "node-002/r0")[1].interface == "r0"


@pytest.mark.parametrize("text", ["head-001", "node-002/mgmt0", "node-009", "node-002/", "", "r1"])
def test_what_is_no_rail_is_not_found(world: World, text: str) -> None:
    assert subjects.find(world, SubjectKind.RAIL, text) is None
    with pytest.raises(KeyError):
        subjects.rail(world, text)


def test_what_is_had_in_a_cloud_is_a_pool_or_a_type(cloud_world: World, world: World) -> None:
    assert subjects.possible(cloud_world, SubjectKind.CAPACITY) == ["cnode", "lab1.2rail"]
    assert subjects.find(cloud_world, SubjectKind.CAPACITY, "node") is None
    assert subjects.line_site(cloud_world, "wan").site == "cloud"
    for kind in (SubjectKind.LINK, SubjectKind.CAPACITY, SubjectKind.CLOUD):
        assert subjects.possible(world, kind) == []
    with pytest.raises(KeyError):
        subjects.line_site(world, "wan")


def test_a_host_is_no_part_of_one(world: World) -> None:
    assert subjects.find(world, SubjectKind.HOST, "node-002") == "node-002"
    assert subjects.find(world, SubjectKind.HOST, "node-002/r1") is None


def test_a_wrong_library_is_named_once_behind_what_was_preloaded_before(tmp_path: Path) -> None:
    wrong = FAULTS["wrong-value"]
    assert isinstance(wrong, FilesFault)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ld.so.preload").write_text("/usr/lib/mine.so\n/usr/local/lib/wrong-value.so")
    files = wrong.files(tmp_path)
    assert list(files) == [PurePosixPath("usr/local/lib/wrong-value.so"), PurePosixPath("etc/ld.so.preload")]
    library, preload = files.values()
    assert library.raw.startswith(b"\x7fELF")
    assert preload.raw == b"/usr/lib/mine.so\n/usr/local/lib/wrong-value.so\n"
    assert wrong.files(tmp_path) == files
