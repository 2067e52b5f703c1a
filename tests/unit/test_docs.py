"""The documentation is true: its commands exist and do what is shown, its links and paths lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest

from rackwright import paths
from tests.doubles import runs
from tests.doubles.command_lines import refusals, simple_commands, unknown
from tests.doubles.transcript import SHELLS, Block, blocks, shows

REPOSITORY = paths.repository()
PAGES = sorted(
    page
    for folder in ("*.md", "docs/**/*.md", "benchmarks/**/*.md", "roles/*/README.md")
    for page in REPOSITORY.glob(folder)
)
BLOCKS = [block for page in PAGES for block in blocks(page)]
SHELL_BLOCKS = [block for block in BLOCKS if block.language in SHELLS]
RUN = [block for block in BLOCKS if block.mark == "run"]
GUIDES = [page for page in PAGES if page.name != "CHANGELOG.md"]
INLINE = re.compile(r"(?<!`)`rackwright ([^`\n]+)`(?!`)")
LINK = re.compile(r"\]\((?!https?://)([^)#\s]+)(?:#[^)]*)?\)")
PROOF = re.compile(
    r"`((?:tests|benchmarks|stacks|templates|rackwright|bootstrap)/[\w./-]+)(?<!/\d)(?:::(\w+))?`"
)
UNSHOWN = ("never", "rendered")
"""Levels of what no test shows."""
TARGETS = frozenset(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), flags=re.MULTILINE))


def _faults(block: Block) -> list[str]:
    """What is wrong with a block of commands: nobody runs it, or its commands do not exist."""
    nobody = [] if block.has_runner else [f"{block}: no mark says who runs this"]
    refused = [f"{block}: {said}" for line in block.commands() for said in refusals(line)]
    made = [words for line in block.commands() for words in simple_commands(line) if words[0] == "make"]
    targets = {word for words in made for word in words[1:] if "=" not in word}
    return [*nobody, *refused, *(f"{block}: no target {name}" for name in sorted(targets - TARGETS))]


@pytest.mark.parametrize("block", SHELL_BLOCKS, ids=str)
def test_block_says_who_runs_it_and_its_commands_exist(block: Block) -> None:
    assert _faults(block) == []


@pytest.mark.parametrize(
    ("fence", "line", "said"),
    [
        ("sh", "ls", "no mark"),
        ("console later", "$ ls", "no mark"),
        ("console hardware", "$ ls", "no mark"),
        ("console hardware: a hall", "$ rackwright up clusters/lab.yaml --ys", "No such option"),
        ("sh machine: a shell", 'eval "$(rackwright envs x.yaml)"', "no command envs"),
        ("sh machine: a machine", "make labb", "no target labb"),
    ],
)
def test_a_block_that_nobody_runs_or_could_run_is_seen(
    fence: str, line: str, said: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```{fence}\n{line}\n```\n")
    (fault,) = [fault for block in blocks(page) for fault in _faults(block)]
    assert said in fault


def _mentions(text: str) -> list[str]:
    return [said for words in INLINE.findall(text) for said in unknown(words.replace(",", " ").split())]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_commands_and_options_that_a_page_mentions_exist(page: Path) -> None:
    assert _mentions(page.read_text()) == []


def test_a_mention_of_what_does_not_exist_is_seen() -> None:
    assert _mentions("by `rackwright lab upp SPEC`, `rackwright plan --dif OLD` or `rackwright up`") == [
        "lab upp SPEC",
        "--dif",
    ]


NOT_THERE = REPOSITORY / "docs" / "decisions" / "0012-commands-not-there.md"


def test_what_is_said_not_to_be_there_is_not_there() -> None:
    rows = re.findall(r"^\| (`.+?) \| ", NOT_THERE.read_text(), flags=re.MULTILINE)
    named = [words for row in rows for words in re.findall(r"`([^`]+)`", row.replace("\\|", " "))]
    assert {words.split()[0] for words in named} >= {"act", "node", "rolling", "localise", "place", "assets"}
    assert [words for words in named if not unknown(words.split())] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_tests_and_files_that_a_page_names_exist(page: Path) -> None:
    for file, test in PROOF.findall(page.read_text()):
        assert (REPOSITORY / file).exists(), file
        assert not test or f"def {test}(" in (REPOSITORY / file).read_text(), f"{file}::{test}"


def _rows(text: str) -> list[list[str]]:
    """Cells of the rows of all tables `behaviour | test | level`."""
    lines = text.splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith("| behaviour | test | level |")]
    tables = [takewhile(lambda line: line.startswith("|"), lines[head + 2 :]) for head in heads]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for table in tables for line in table]


def _unproven(rows: list[list[str]]) -> list[str]:
    """Behaviours whose row is not whole, or names no test and says neither that there is none nor why."""
    return [row[0] for row in rows if len(row) != 3 or not _proven(row[1], row[2])]


def _proven(test: str, level: str) -> bool:
    return bool(PROOF.search(test)) or (test.startswith(("none", "read from")) and level in UNSHOWN)


def _linked(page: Path) -> set[Path]:
    """Pages that can be reached from one by links."""
    reached, waiting = {page}, [page]
    while waiting:
        here = waiting.pop()
        ends = {(here.parent / link).resolve() for link in LINK.findall(here.read_text())}
        waiting += ends & set(PAGES) - reached
        reached |= ends
    return reached


def test_every_page_of_docs_can_be_reached_from_the_readme() -> None:
    reached = _linked(REPOSITORY / "README.md")
    pages = {page for page in PAGES if "docs" in page.relative_to(REPOSITORY).parts[:1]}
    decisions = {page for page in pages if page.parent.name == "decisions"}
    assert REPOSITORY / "docs" / "decisions" in reached
    assert sorted(pages - decisions - reached) == []


def test_every_module_of_tests_on_real_parts_has_a_row() -> None:
    page = (REPOSITORY / "docs" / "proof.md").read_text()
    ground = ("browser", "engine", "fabric", "golden", "hosts", "kernel", "properties", "roles")
    modules = [path for name in ground for path in sorted((REPOSITORY / "tests" / name).glob("test_*.py"))]
    assert len(modules) > 50
    named = (str(path.relative_to(REPOSITORY)) for path in modules)
    assert [name for name in named if name not in page] == []


def test_every_row_of_the_proof_names_its_test_or_that_there_is_none() -> None:
    rows = _rows((REPOSITORY / "docs" / "proof.md").read_text())
    assert len(rows) > 100
    assert _unproven(rows) == []


def test_a_row_without_a_test_is_seen() -> None:
    head = "| behaviour | test | level |\n|---|---|---|\n"
    bad = "| a | by hand | real |\n| b | none | real |\n| c | `tests/unit/test_docs.py` |\n"
    good = "| d | none | never |\n| e | `tests/unit/test_docs.py` | real |\n"
    assert _unproven(_rows(head + bad + good)) == ["a", "b", "c"]


def _run(command: str, home: Path) -> str:
    """What a command prints in a checkout, as a newcomer's home has it."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "LC_ALL": "C.UTF-8",
    }
    ran = subprocess.run(
        ["sh", "-c", command],
        cwd=home / "rackwright",
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    return ran.stdout.replace(str(home), "~")


def _checkout(home: Path) -> Path:
    checkout = home / "rackwright"
    shutil.copytree(REPOSITORY / "clusters", checkout / "clusters")
    return checkout


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.mark == "runs"], ids=str)
def test_commands_on_run_folders_end_well(block: Block, tmp_path: Path) -> None:
    checkout = _checkout(tmp_path)
    for named in sorted(set(re.findall(r"runs/\S+", block.text))):
        runs.build(checkout / named, replace(runs.fleet(8), rails=1))
    for command in block.commands():
        said = _run(f"{command}; echo ended with $?", tmp_path)
        assert said.endswith("ended with 0\n"), said


def _put_right(page: Path, outputs: dict[int, str]) -> None:
    """Write what was printed into the blocks that begin at these lines."""
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
    for line in sorted(outputs, reverse=True):
        end = next(n for n in range(line, len(lines)) if lines[n].startswith("```"))
        lines[line:end] = [outputs[line]]
    page.write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize("page", sorted({block.page for block in RUN}), ids=lambda page: str(page.name))
def test_commands_print_what_the_page_shows(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    checkout = _checkout(tmp_path)
    wrong: dict[int, str] = {}
    for block in blocks(page):
        if block.mark.startswith("file="):
            file = checkout / block.mark.removeprefix("file=")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.mark == "run":
            steps = [(command, expected, _run(command, tmp_path)) for command, expected in block.steps()]
            if not all(shows(expected, output) for _, expected, output in steps):
                wrong[block.line] = "".join(f"$ {command}\n{output}" for command, _, output in steps)
    if wrong and request.config.getoption("--update-golden"):
        _put_right(page, wrong)
    assert not wrong, "\n".join(f"{page}:{line}\n{output}" for line, output in wrong.items())
