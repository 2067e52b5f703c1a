"""`rackwright catalogue`: figures with their sources."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rackwright.catalogue.load import load
from rackwright.cli.frame import run

if TYPE_CHECKING:
    import pytest

    Capture = pytest.CaptureFixture[str]


def test_list_names_everything(capsys: Capture) -> None:
    assert run(["catalogue", "list", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rackwright/catalogue/1"
    listed = [(entry["section"], entry["name"]) for entry in document["entries"]]
    assert listed == [(section, entry.name) for section, entry in load().entries()]


def test_show_gives_the_entry_with_its_sources(capsys: Capture) -> None:
    assert run(["catalogue", "show", "dgx-h100", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rackwright/catalogue-entry/1"
    assert document["section"] == "platforms"
    assert document["entry"]["power_kw"] == 10.2
    assert all(source["read"] and source["states"] for source in document["entry"]["sources"])


def test_show_in_text_puts_a_source_at_every_figure(capsys: Capture) -> None:
    for _, entry in load().entries():
        assert run(["catalogue", "show", entry.name]) == 0
        lines = capsys.readouterr().out.splitlines()
        figures = lines[1 : lines.index("sources")]
        assert len(figures) == len(dict(entry.figures()))
        assert all(line.endswith("]") for line in figures)


def test_an_unknown_name_is_answered_with_the_nearest(capsys: Capture) -> None:
    assert run(["catalogue", "show", "dgx-h10"]) == 2
    err = capsys.readouterr().err
    assert "USE001" in err
    assert "`dgx-h100`" in err


def test_a_name_near_nothing_is_answered_with_all(capsys: Capture) -> None:
    assert run(["catalogue", "show", "zzz"]) == 2
    assert "trn2.48xlarge" in capsys.readouterr().err
