"""The data flow of docs/architecture: a row imports only rows above it, and modules stay small."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[2]

ROWS = (
    {
        "errors",
        "findings",
        "canonical",
        "documents",
        "paths",
        "strict_yaml",
        "hostlists",
        "kernel",
        "lack",
        "locks",
        "signals",
        "visible",
    },
    {"spec", "catalogue"},
    {"plan"},
    {"checks"},
    {"render"},
    {"provision"},
    {"inventory"},
    {"converge"},
    {"burst"},
    {"doctor"},
    {"validate"},
    {"verdict"},
    {"act"},
    {"cli"},
)
LAB_MAY_IMPORT = ROWS[0] | ROWS[1] | {"plan", "render"}
STANDARD = sys.stdlib_module_names
MODULE_LINES, STACK_LINES = 400, 40
OURS = ("rackwright", "bootstrap", "stacks", "benchmarks", "tests")


def allowed(part: str) -> set[str]:
    """What a part of the package may import besides itself."""
    if part == "lab":
        return LAB_MAY_IMPORT
    row = next(number for number, parts in enumerate(ROWS) if part in parts)
    above = set[str]().union(*ROWS[:row])
    return above | ROWS[0] if row == 0 else above | ({"lab"} if part == "cli" else set())


def imported(module: Path, package: str) -> Iterator[str]:
    """Absolute names of all a module imports, also for types only, inside functions and relatively."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: -node.level + 1 or None] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{source}.{name.name}" for name in node.names)


def wrong_imports(root: Path) -> list[str]:
    """Imports of the package below `root` that point down its own data flow."""
    found = []
    for module in sorted((root / "rackwright").rglob("*.py")):
        parts = module.relative_to(root).with_suffix("").parts
        package = ".".join(parts[:-1])
        if len(parts) == 2 and parts[1] == "__init__":
            may: set[str] = set()
        else:
            may = allowed(parts[1]) | {parts[1]}
        targets = {name.split(".")[1] for name in imported(module, package) if name.startswith("rackwright.")}
        found += [f"{module.relative_to(root)}: {name}" for name in sorted(targets - may - {"__version__"})]
    return found


def test_a_row_imports_only_rows_above() -> None:
    assert wrong_imports(REPOSITORY) == []


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("plan/x.py", "from rackwright.checks import rules"),
        ("plan/x.py", "import rackwright.render.boot"),
        ("spec/x.py", "from rackwright.catalogue import load"),
        ("errors.py", "from rackwright.spec import load"),
        ("provision/deep/x.py", "from ...inventory import build"),
        ("render/x.py", "def f():\n    from rackwright import provision"),
        (
            "checks/x.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from rackwright.act import a",
        ),
        ("act/x.py", "from rackwright.lab import labd"),
        ("lab/x.py", "from rackwright.provision import onprem"),
        ("lab/x.py", "from rackwright.cli import output"),
    ],
)
def test_an_import_against_the_flow_is_seen(tmp_path: Path, module: str, text: str) -> None:
    planted = tmp_path / "rackwright" / module
    planted.parent.mkdir(parents=True)
    planted.write_text(text)
    assert len(wrong_imports(tmp_path)) == 1


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("cli/lab.py", "from rackwright.lab import client"),
        (
            "lab/x.py",
            "from rackwright.plan.model import Plan\nfrom . import net\nfrom rackwright import paths",
        ),
        ("plan/x.py", "from rackwright.spec import base\nfrom .model import Plan"),
        ("cli/version.py", "from rackwright import __version__"),
    ],
)
def test_an_import_along_the_flow_is_not_seen(tmp_path: Path, module: str, text: str) -> None:
    planted = tmp_path / "rackwright" / module
    planted.parent.mkdir(parents=True)
    planted.write_text(text)
    assert wrong_imports(tmp_path) == []


def test_every_part_of_the_package_has_its_row() -> None:
    known = set[str]().union(*ROWS) | {"lab", "__init__"}
    parts = {path.stem for path in (REPOSITORY / "rackwright").iterdir() if path.suffix in {"", ".py"}}
    assert parts - {"__pycache__"} <= known


def test_set_up_needs_nothing_but_the_standard_library_and_the_error_tree() -> None:
    ours = ("bootstrap", "rackwright.errors")
    foreign = {
        name
        for module in (REPOSITORY / "bootstrap").glob("*.py")
        for name in imported(module, "bootstrap")
        if not name.startswith(ours) and name.split(".")[0] not in STANDARD
    }
    assert foreign == set()


def python_files() -> list[Path]:
    return [path for name in OURS for path in sorted((REPOSITORY / name).rglob("*.py"))]


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    assert {str(path): lines(path) for path in python_files() if lines(path) > MODULE_LINES} == {}


def test_a_stack_is_one_short_program() -> None:
    programs = sorted((REPOSITORY / "stacks").rglob("*.py"))
    assert {str(path): lines(path) for path in programs if lines(path) > STACK_LINES} == {}


def test_the_page_of_the_architecture_names_every_part_and_every_place() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text()
    package = REPOSITORY / "rackwright"
    parts = [f"`{one.name}`" for one in package.glob("[!_]*.py")]
    parts += [f"`rackwright/{one.name}/`" for one in package.iterdir() if (one / "__init__.py").exists()]
    places = re.findall(r'return state\(cluster\) / "([^"]+)"', (package / "paths.py").read_text())
    assert len(places) > 5
    missing = [part for part in parts if part not in page]
    assert missing + [place for place in places if not re.search(rf"`{re.escape(place)}/?`", page)] == []


def test_what_the_page_of_the_architecture_names_is_there() -> None:
    page = (REPOSITORY / "docs" / "architecture.md").read_text()
    named = re.findall(r"`((?:rackwright|templates|stacks|roles|playbooks|inventories)/[\w/]*)`", page)
    assert len(named) > 15
    assert [path for path in named if not (REPOSITORY / path).exists()] == []
