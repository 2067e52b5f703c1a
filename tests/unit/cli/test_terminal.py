"""Nothing that a user, a spec or a host says is obeyed by the terminal it is shown on: it is written out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
import pytest

from rackwright import paths
from rackwright.cli import deploy
from rackwright.cli.frame import run
from rackwright.cli.output import Console, error_text
from rackwright.converge.progress import Estimate, Live
from rackwright.converge.shards import Shard
from rackwright.converge.tally import Tally
from rackwright.errors import Failure, RackwrightError, SubjectFailed
from rackwright.visible import visible, with_styles

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

CLEARS = "\x1b[2J\x1b]0;title\x07"
SHOWN = r"\x1b[2J\x1b]0;title\x07"
RED = "\x1b[31m"
NAMED = 'schema: rackwright/spec/1\ncluster: "{}"\n'


@pytest.mark.parametrize(
    "words",
    [
        (CLEARS,),
        ("check", CLEARS),
        ("check", f"--{CLEARS}"),
        ("check", RED + CLEARS, "--format", "text"),
        ("schema", CLEARS),
        ("nics", CLEARS),
        ("catalogue", "show", CLEARS),
        ("fabric", CLEARS),
        ("judge", CLEARS),
    ],
    ids=str,
)
def test_an_argument_is_written_out(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(words) != 0
    said = capsys.readouterr()
    assert SHOWN in said.err
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", said.out + said.err)


def test_a_name_of_a_spec_is_written_out(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "a.yaml").write_text(NAMED.format(r"\e[2J\e]0;title\a"))
    assert run(("check", str(tmp_path / "a.yaml"))) != 0
    said = capsys.readouterr()
    assert SHOWN in said.out + said.err
    assert "\x1b" not in said.out + said.err


def test_no_part_of_an_error_has_a_style_of_its_own() -> None:
    error = RackwrightError(RED, code="A001", where=RED, got=RED, expected=RED, hint=f"one\n{RED}")
    failed = SubjectFailed([Failure(subject=RED, code="A001", cause=RED, hint=RED)])
    ours = click.style("error", fg="red", bold=True)
    for text, parts in ((error_text(error), 5), (error_text(failed), 4)):
        assert "\x1b" not in text.replace(ours, "")
        assert text.count(r"\x1b[31m") == parts
    assert error_text(error).endswith("one\n" + " " * 12 + r"\x1b[31m"), "and a hint keeps its lines"


def test_a_message_a_bug_and_its_traceback_are_written_out(capsys: Capture) -> None:
    console = Console(verbose=True)
    console.message(f"{CLEARS}\r\b")
    console.detail("right to left: \u202e")
    console.unexpected(ValueError(CLEARS))
    console.unfit(FileNotFoundError(2, CLEARS, CLEARS))
    said = capsys.readouterr().err
    assert rf"{SHOWN}\r\x08" in said
    assert r"left: \u202e" in said
    assert said.count(SHOWN) >= 6
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", said)


def test_what_is_asked_is_written_out(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "y"

    monkeypatch.setattr("click.termui.visible_prompt_func", answer)
    deploy.consent(f"destroy {CLEARS}?", yes=False)
    said = "".join([*asked, *capsys.readouterr()])
    assert SHOWN in said
    assert "\x1b" not in said


def test_the_display_of_a_converge_shows_what_hosts_say(capsys: Capture) -> None:
    display = Live(Estimate(Tally(hosts={}), {}, ()))
    display.begin(Shard("rack", ("a",)))
    display.diff(CLEARS)
    display.close()
    assert SHOWN in capsys.readouterr().err


def test_styles_of_ours_stay_and_tabs_and_lines_too() -> None:
    ours = "\x1b[31m\x1b[1merror\x1b[0m\tone\ntwo ä é ∑"
    assert with_styles(ours) == ours
    assert with_styles(ours + CLEARS) == ours + SHOWN
    assert visible("\udcff") == r"\udcff", "a byte that is no text"


def test_there_is_one_place_that_prints() -> None:
    printing = re.compile(r"\bclick\.s?echo\(|\bprint\(|print_exception\(|std(?:err|out)\.write\(")
    found = {
        path.name: len(printing.findall(path.read_text()))
        for path in (paths.repository() / "rackwright" / "cli").glob("*.py")
    }
    known = {"output.py": 1, "frame.py": 1, "__init__.py": 1}
    assert {name: count for name, count in found.items() if count} == known, (
        "two of them say nothing but ours"
    )
