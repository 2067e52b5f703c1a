"""Bad input, through the console script: place, got, expected, hint and exit code, and nothing created.

Each case is a mistake in the lab's spec. `check` answers it with one JSON document, and so does
`plan`, which writes nothing; in text the same is said on stderr.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from rackwright import paths

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SCRIPT = Path(sys.executable).with_name("rackwright")
CLUSTERS = paths.repository() / "clusters"
AS_ORDINARY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
"""Root that is asked for its permissions like everybody else."""


class Case(NamedTuple):
    """What is done to the lab's spec, and what is said of it."""

    name: str
    spoil: Callable[[Path], None]
    exit_code: int
    code: str
    place: str
    """After the folder."""
    got: str
    expected: str
    hint: str


def replaced(*pairs: tuple[str, str]) -> Callable[[Path], None]:
    """Texts of the spec replaced."""

    def spoil(spec: Path) -> None:
        text = spec.read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text, old
            text = text.replace(old, new, 1)
        spec.write_text(text, encoding="utf-8")

    return spoil


def content(raw: bytes) -> Callable[[Path], None]:
    """A spec of other bytes."""
    return lambda spec: _overwrite(spec, raw)


def _overwrite(spec: Path, raw: bytes) -> None:
    spec.write_bytes(raw)


def directory(spec: Path) -> None:
    spec.rename(spec.with_name("inside.yaml"))
    spec.mkdir()
    spec.with_name("inside.yaml").rename(spec / "inside.yaml")


def missing(spec: Path) -> None:
    spec.rename(spec.with_name("lab2.yaml"))


def unreadable(spec: Path) -> None:
    spec.chmod(0)


def twice_the_same_serial(spec: Path) -> None:
    assets = spec.parent / "assets/lab.csv"
    assets.write_text(assets.read_text().replace("LAB-0003", "LAB-0002"))


HEAD = "lab.yaml:24:21"
CASES = [
    Case(
        "empty file", content(b""), 2, "SPEC001", "lab.yaml", "no YAML value", "`rackwright: 1`", "an example"
    ),
    Case(
        "broken YAML",
        content(b"a: [1\nb: 2\n"),
        2,
        "SPEC001",
        "lab.yaml:2:2",
        "b: 2",
        "closing bracket",
        "close every",
    ),
    Case("tabs", content(b"a:\n\tb: 2\n"), 2, "SPEC001", "lab.yaml:2:1", "b: 2", "spaces", "replace the tab"),
    Case("a list", content(b"- a\n"), 2, "SPEC001", "lab.yaml:1:1", "a list", "a map", "not a list of items"),
    Case(
        "not UTF-8",
        content(b"a: 1\nb: caf\xe9\n"),
        2,
        "SPEC001",
        "lab.yaml:2:7",
        "byte 0xe9",
        "UTF-8",
        "iconv",
    ),
    Case("a directory", directory, 2, "SPEC001", "lab.yaml", "a directory", "a YAML file", "inside.yaml"),
    Case("no such file", missing, 2, "SPEC001", "lab.yaml", "nothing there", "a YAML file", "lab2.yaml"),
    Case(
        "no permission",
        unreadable,
        2,
        "SPEC001",
        "lab.yaml",
        "Permission denied",
        "that you may read",
        "ls -l",
    ),
    Case(
        "wrong type",
        replaced(("{static: 1}", '{static: "1"}')),
        1,
        "SPEC012",
        HEAD,
        "1 (a text)",
        "a whole number",
        "quotes",
    ),
    Case(
        "unknown key",
        replaced(("    image: debian", "    imago: debian")),
        1,
        "SPEC011",
        "lab.yaml:25:5",
        "imago",
        "image",
        "`image`?",
    ),
    Case(
        "count of -1", replaced(("{static: 1}", "{static: -1}")), 1, "SPEC014", HEAD, "-1", "at least 0", ""
    ),
    Case(
        "no slots",
        replaced(("{static: 1}", "{static: 0, burst: 0}")),
        1,
        "SPEC016",
        "lab.yaml:24:5",
        "both 0",
        "at least 1",
        "give it nodes",
    ),
    Case(
        "ten million nodes",
        replaced(("{static: 3}", "{static: 10000000}")),
        1,
        "ADDR001",
        "lab.yaml:31:5",
        "10000001 nodes",
        "at most 239",
        "a larger network",
    ),
    Case(
        "overlapping networks",
        replaced(("cidr: 10.77.16.0/23", "cidr: 10.77.0.0/24")),
        1,
        "NET001",
        "lab.yaml:38:73",
        "10.77.0.0/24",
        "no address in common",
        "range of its own",
    ),
    Case(
        "a serial twice",
        twice_the_same_serial,
        1,
        "ASSET004",
        "assets/lab.csv:4:1",
        "node-002",
        "assets/lab.csv:3:1",
        "a copy",
    ),
    Case(
        "rack over its units",
        replaced(("units: 12", "units: 1")),
        1,
        "RACK001",
        "lab.yaml:31:5",
        "1 units",
        "racks of 1 units",
        "more racks",
    ),
    Case(
        "rack over its power",
        replaced(("power_kw: 2,", "power_kw: 0.3,")),
        1,
        "RACK001",
        "lab.yaml:31:5",
        "0.2 kW",
        "0.3 kW",
        "more power",
    ),
    Case(
        "hall over its feed",
        replaced(("feed_kw: 5", "feed_kw: 0.5")),
        1,
        "POWER001",
        "lab.yaml:13:22",
        "1.0 kW",
        "0.5 kW",
        "larger feed",
    ),
    Case(
        "no bmc network",
        replaced(("      bmc: {cidr: 10.77.1.0/24}\n", "")),
        1,
        "NET003",
        "lab.yaml:15:5",
        "management",
        "bmc",
        "add `bmc",
    ),
    Case(
        "no such image",
        replaced(("    image: debian", "    image: debina")),
        1,
        "REF002",
        "lab.yaml:25:12",
        "debina",
        "debian",
        "`debian`?",
    ),
    Case(
        "no such platform",
        replaced(("lab-node", "lab-nod")),
        1,
        "REF001",
        "lab.yaml:23:15",
        "lab-nod",
        "a platform",
        "`lab-node`?",
    ),
]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """The lab's spec and assets in a folder of their own, without a lock."""
    folder = tmp_path / "clusters"
    (folder / "assets").mkdir(parents=True)
    shutil.copy(CLUSTERS / "assets/lab.csv", folder / "assets")
    shutil.copy(CLUSTERS / "lab.yaml", folder)
    return folder / "lab.yaml"


def rackwright(spec: Path, *arguments: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    places = {f"XDG_{kind}_HOME": str(spec.parents[1] / kind.lower()) for kind in ("STATE", "CACHE")}
    return subprocess.run(
        [*before, str(SCRIPT), *arguments],
        cwd=spec.parent,
        env=os.environ | places,
        capture_output=True,
        text=True,
        check=False,
    )


def tree(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


def permissions() -> list[str]:
    return AS_ORDINARY if os.geteuid() == 0 else []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("command", ["check", "plan"])
def test_bad_input(case: Case, command: str, spec: Path) -> None:
    case.spoil(spec)
    before = tree(spec.parents[1])
    done = rackwright(spec, command, "lab.yaml", "--format", "json", before=permissions())
    assert done.returncode == case.exit_code
    fault = the_fault(json.loads(done.stdout), case)
    assert fault["place"] == case.place
    assert case.got in fault["got"]
    assert case.expected in fault["expected"]
    assert case.hint in fault["hint"]
    assert fault["message"]
    assert "Traceback" not in done.stderr
    assert tree(spec.parents[1]) == before, "nothing is created"


def the_fault(document: dict[str, Any], case: Case) -> dict[str, str]:
    """The one fault of a document, whichever of the two kinds it is."""
    if case.exit_code == 2:
        assert document["schema"] == "rackwright/error/1"
        assert document["code"] == case.code
        return {**document, "place": document["where"]}
    assert document["schema"] in {"rackwright/check/1", "rackwright/error/1"}
    errors = [finding for finding in document["findings"] if finding["level"] == "error"]
    assert [error["code"] for error in errors] == [case.code], "one mistake is one finding"
    where = f"{errors[0]['file']}:{errors[0]['line']}:{errors[0]['column']}"
    return {**errors[0], "place": where.removeprefix(f"{Path.cwd()}/").split("clusters/")[-1]}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name in {"tabs", "wrong type"}], ids=lambda case: case.name
)
def test_in_text_the_same_is_said(case: Case, spec: Path) -> None:
    case.spoil(spec)
    done = rackwright(spec, "plan", "lab.yaml")
    assert done.returncode == case.exit_code
    assert done.stdout == ""
    assert f"{case.place}: error {case.code}: " in done.stderr
    for fact in (case.got, case.expected, case.hint):
        assert fact in done.stderr
    assert "\x1b" not in done.stderr


def test_five_mistakes_are_five_findings_at_once(spec: Path) -> None:
    replaced(
        ("name: lab,", "name: LAB,"),
        ("rows: 1,", "rows: 0,"),
        ("platform: lab-node", "platfrom: lab-node"),
        ("{static: 3}", "{static: three}"),
        ("kind: slurm", "kind: slrum"),
    )(spec)
    done = rackwright(spec, "check", "lab.yaml", "--format", "json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["counts"]["error"] == 5
    assert [(one["line"], one["code"]) for one in document["findings"]] == [
        (4, "SPEC015"), (12, "SPEC014"), (23, "SPEC011"), (31, "SPEC012"), (42, "SPEC013"),
    ]  # fmt: skip
    assert document["counts"]["not_run"] == len(document["not_run"]) > 20


def test_what_the_schema_misses_is_all_said_at_once_too(spec: Path) -> None:
    """Rules and planning each find their own, in one answer."""
    replaced(
        ("    image: debian", "    image: debina"),
        ("{static: 3}", "{static: 10000000}"),
        ("cidr: 10.77.16.0/23", "cidr: 10.77.0.0/24"),
    )(spec)
    for command in ("check", "plan"):
        document = json.loads(rackwright(spec, command, "lab.yaml", "--format", "json").stdout)
        errors = [one["code"] for one in document["findings"] if one["level"] == "error"]
        assert errors == ["REF002", "ADDR001", "NET001"]


def test_an_asset_file_without_permission(spec: Path) -> None:
    (spec.parent / "assets/lab.csv").chmod(0)
    done = rackwright(spec, "check", "lab.yaml", "--format", "json", before=permissions())
    (finding,) = json.loads(done.stdout)["findings"]
    assert (done.returncode, finding["code"], finding["line"]) == (1, "ASSET001", 27)
    assert "Permission denied" in finding["got"]


def test_a_good_spec_makes_the_same_check_green(spec: Path) -> None:
    done = rackwright(spec, "check", "lab.yaml", "--format", "json", before=permissions())
    assert done.returncode == 0
    assert json.loads(done.stdout)["counts"] == {
        "error": 0, "warning": 0, "info": 1, "suppressed": 0, "not_run": 0,
    }  # fmt: skip


def test_a_good_spec_leaves_traces_that_these_tests_would_see(spec: Path) -> None:
    before = tree(spec.parents[1])
    assert rackwright(spec, "plan", "lab.yaml").returncode == 0
    made = tree(spec.parents[1]).keys() - before.keys()
    assert {"clusters/lab.lock.yaml", "state/rackwright/lab/plan.json"} <= made


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_no_space_left_names_the_file_and_what_it_needs(spec: Path) -> None:
    """The state folder is a file system with room for names and for no content."""
    state = spec.parents[1] / "state"
    state.mkdir()
    full = (
        'mount -t tmpfs -o size=4k full "$0" && echo >"$0/full" && "$@"; set -- $?; ls -AR "$0" >&2; exit $1'
    )
    before = ["unshare", "--mount", "sh", "-c", full, str(state)]
    done = rackwright(spec, "plan", "lab.yaml", "--format", "json", before=before)
    assert done.returncode == 2
    document = json.loads(done.stdout)
    assert document["where"] == str(state / "rackwright/lab/plan.json")
    assert document["got"] == "No space left on device"
    assert document["expected"] == "room on its file system"
    assert "run the same command again" in document["hint"]
    assert "plan.json" not in done.stderr, "no half-written file is left"
