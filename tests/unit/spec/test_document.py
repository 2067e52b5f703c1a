"""What is no YAML, or no spec at all, is said with its place; what is only unusual YAML is read."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright.errors import SpecUnreadable
from rackwright.findings import Place, SpecPath
from rackwright.spec import faults
from rackwright.spec.document import MOST_REPEATED, read_document
from rackwright.spec.text import read_text

if TYPE_CHECKING:
    from rackwright.spec.document import Document

FILE = Path("x.yaml")


def read(text: str) -> Document:
    return read_document(FILE, text)


@pytest.mark.parametrize(
    ("text", "where", "got", "expected", "hint"),
    [
        ("", "", "no YAML value", "a map that begins", "clusters/"),
        ("# only a comment\n", "", "no YAML value", "a map", "clusters/"),
        ("- a\n- b\n", ":1:1", "a list", "a map", "not a list"),
        ("just text\n", ":1:1", "`just text`", "a map", ""),
        ("a:\n\tb: 1\n", ":2:1", "→b: 1", "spaces", "tab"),
        ("a: [1, 2\nb: 3\n", ":2:2", "b: 3", "a comma or the closing bracket", "close every"),
        ("a: {b: c: d}\n", ":1:9", "a: {b: c: d}", "a comma or the closing bracket", "holds `: `"),
        ("a: b: c\n", ":1:5", "a: b: c", "one key and one value", "quote"),
        ("a: 'open\n", ":2:1", "the end of the file", "a closing quote", "close the quote"),
        ("a: 1\n  b: 2\n", ":2:4", "  b: 2", "one key and one value", "indentation"),
        ("a:\n    b: 1\n  c: 2\n", ":3:3", "  c: 2", "the same indentation", "align"),
        ("a: 1\nb\nc: 2\n", ":2:1", "b", "`key: value`", "a colon"),
        ("a: @x\n", ":1:4", "a: @x", "a value", "quote"),
        ("a: *x\n", ":1:4", "a: *x", "an anchor above it", "anchor"),
        ("a: 1\n---\nb: 2\n", ":2:1", "---", "one document", "second `---`"),
        ('a: "\\q"\n', ":1:6", 'a: "\\q"', "an escape", "single quotes"),
        ("b: 1\na: \x01\n", ":2:4", "U+0001", "printable text", "editor"),
        ("a: !env X\n", ":1:4", "!env", "plain values", "quote"),
        ("? [a]\n: 1\n", ":1:3", "a list", "a name", ""),
        ("a: &x [*x]\n", ":1:4", "more than 50 levels", "maps and lists", ""),
        ("a: " + "[" * 300 + "]" * 300, "", "more than 50 levels", "maps and lists", ""),
        ("a: " + "[" * 5000 + "]" * 5000, "", "more than 50 levels", "maps and lists", ""),
        ("a: &a {<<: *a}\n", "", "more than 50 levels", "maps and lists", ""),
        ("a: {<<: 7}\n", ":1:9", "`7`", "a map", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_read(text: str, where: str, got: str, expected: str, hint: str) -> None:
    with pytest.raises(SpecUnreadable) as caught:
        read(text)
    error = caught.value
    assert error.code == "SPEC001"
    assert error.where.startswith(f"x.yaml{where}")
    assert got in error.got
    assert expected in error.expected
    assert hint in error.hint


def test_aliases_of_aliases_are_bounded() -> None:
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
    )
    with pytest.raises(SpecUnreadable, match="aliases") as caught:
        read(laughs)
    assert f"{MOST_REPEATED:,}" in caught.value.got


def test_merges_of_merges_are_bounded() -> None:
    laughs = "a0: &a0 {k: v}\n" + "".join(
        f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 10)
    )
    with pytest.raises(SpecUnreadable, match="aliases"):
        read(laughs)


def test_yaml_1_2_and_dates_stay_texts() -> None:
    values = read(
        "a: yes\nb: on\nc: 2027-03-01\nd: 010\ne: 0x10\nf: 1_000\ng: ~\nh: true\ni: 1e3\nj: 12:30\n"
    ).values
    assert values == {
        "a": "yes", "b": "on", "c": "2027-03-01", "d": 10, "e": 16,
        "f": 1000, "g": None, "h": True, "i": 1000.0, "j": "12:30",
    }  # fmt: skip


def test_aliases_and_merges_keep_the_place_of_their_source() -> None:
    document = read("base: &base {site: hall, image: debian}\nnode:\n  <<: *base\n  image: rocky\n")
    assert document.values["node"] == {"image": "rocky", "site": "hall"}
    marks = document.marks
    assert marks[SpecPath(("node", "image"))].value == Place(FILE, 4, 10)
    assert marks[SpecPath(("node", "site"))].value == Place(FILE, 1, 20)
    assert document.findings == []


def test_an_earlier_merge_wins() -> None:
    assert read("a: &a {k: 1}\nb: &b {k: 2, l: 3}\nc: {<<: [*a, *b]}\n").values["c"] == {"k": 1, "l": 3}


def test_numbers_beyond_all_bounds_are_findings() -> None:
    document = read(f"a: {'9' * 6000}\nb: .nan\nc: 1e999\n")
    assert [(one.code, str(one.path)) for one in document.findings] == [
        (faults.WRONG_TYPE, "a"), (faults.WRONG_TYPE, "b"), (faults.WRONG_TYPE, "c"),
    ]  # fmt: skip


def test_a_hint_is_a_command_that_runs_as_it_stands(tmp_path: Path) -> None:
    """Also where a folder's name has a space."""
    path = tmp_path / "two words.yaml"
    path.write_bytes("ä: 1\n".encode("latin1"))
    with pytest.raises(SpecUnreadable) as caught:
        read_text(path, "a spec")
    ran = subprocess.run(shlex.split(caught.value.hint), capture_output=True, check=True)
    assert ran.stdout.decode() == "ä: 1\n"
