"""The run folder: whole at every moment, and never that of another run."""

from __future__ import annotations

import os
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from rackwright import canonical
from rackwright.errors import EvidenceSpoiled, UsageError
from rackwright.validate.evidence import RUN, Evidence, check, load, parts_of, sealed, verified
from rackwright.validate.expectations import Expectations
from rackwright.validate.model import Artefact, Context, Ended, Run, Step, Tool
from rackwright.validate.parsers.flow import BLOCK

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = Expectations(expectations=())


def run() -> Run:
    return Run(
        cluster="lab",
        suite="acceptance",
        plan_sha256="0" * 64,
        started="2026-11-28T08:00:00Z",
        sites={},
        rails=(),
        checks=(),
        expectations=Artefact(path="expectations.json", sha256="0" * 64),
    )


def step(name: str) -> Step:
    return Step(
        name=name,
        check="matrix",
        tool=Tool.MATRIX,
        context=Context(),
        nodes=("n1",),
        command=(),
        ended=Ended.DONE,
    )


def test_a_new_folder_holds_the_expectations_and_their_hash(tmp_path: Path) -> None:
    evidence = Evidence.begin(tmp_path / "run", run(), NOTHING)
    text = (tmp_path / "run" / "expectations.json").read_text()
    assert Expectations.model_validate_json(text) == NOTHING
    assert load(tmp_path / "run").expectations.sha256 == canonical.sha256(text)
    assert evidence.run.finished is None


def test_a_folder_with_another_run_is_left_alone(tmp_path: Path) -> None:
    Evidence.begin(tmp_path, run(), NOTHING).add(step("matrix/n1"))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(UsageError) as caught:
        Evidence.begin(tmp_path, run(), NOTHING)
    assert caught.value.code == "VAL007"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_run_that_was_cut_off_before_it_had_its_file_is_begun_anew(tmp_path: Path) -> None:
    Evidence.begin(tmp_path, run(), NOTHING)
    (tmp_path / RUN).unlink()
    (tmp_path / ".run.json.x7").write_text("{")
    assert load(Evidence.begin(tmp_path, run(), NOTHING).folder).steps == ()


@pytest.mark.parametrize("name", ["expectations.json", "notes.txt", ".bashrc", "raw"])
def test_a_folder_with_files_of_somebody_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError) as caught:
        Evidence.begin(tmp_path, run(), NOTHING)
    assert (caught.value.code, caught.value.got) == ("VAL007", f"other files: {name}")
    assert "--resume" not in caught.value.hint, "there is no run"
    assert (tmp_path / name).read_text() == "mine"


def test_every_step_is_on_disk_as_soon_as_it_is_added(tmp_path: Path) -> None:
    evidence = Evidence.begin(tmp_path, run(), NOTHING)
    for number in range(3):
        evidence.add(step(f"matrix/n{number}"))
        assert len(load(tmp_path).steps) == number + 1


def test_a_write_that_fails_leaves_the_steps_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = Evidence.begin(tmp_path, run(), NOTHING)
    evidence.add(step("matrix/n1"))

    def full(_: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space"):
        evidence.add(step("matrix/n2"))
    monkeypatch.undo()
    assert [one.name for one in load(tmp_path).steps] == ["matrix/n1"]


def test_a_run_that_is_cut_or_changed_in_any_place_is_found_and_never_half_read(tmp_path: Path) -> None:
    evidence = Evidence.begin(tmp_path, run(), NOTHING)
    evidence.add(step("matrix/n1"))
    text = (tmp_path / RUN).read_text()
    other = {"0": "1", "n": "m"}
    spoiled = [text[:length] for length in range(0, len(text) - 2, 5)]
    spoiled += [
        text[:place] + other[letter] + text[place + 1 :]
        for place, letter in list(enumerate(text))[::3]
        if letter in other
    ]
    assert len(spoiled) > 100
    for changed in spoiled:
        (tmp_path / RUN).write_text(changed)
        with pytest.raises(UsageError) as caught:
            load(tmp_path)
        assert caught.value.code in {"RUN001", "RUN002"}
    (tmp_path / RUN).write_text(text)
    assert load(tmp_path) == evidence.run


def test_a_run_without_its_hash_is_not_taken(tmp_path: Path) -> None:
    evidence = Evidence.begin(tmp_path, run(), NOTHING)
    (tmp_path / RUN).write_text(canonical.dumps(evidence.run))
    with pytest.raises(EvidenceSpoiled, match="missing or was changed"):
        load(tmp_path)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"x": NaN}', '{"x": Infinity}', '{"x": "\\ud800"}', '"\\ud800"', "[]", "7", "\x00", ""],
    ids=str,
)
def test_what_is_no_run_is_refused_and_no_fault_of_ours(tmp_path: Path, text: str) -> None:
    (tmp_path / RUN).write_text(text)
    with pytest.raises(UsageError) as caught:
        load(tmp_path)
    assert caught.value.code in {"RUN001", "RUN002"}


@pytest.mark.parametrize("field", ["started", "finished", "resumed"])
@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-28T08:00:00", "28.11.2026"])
def test_a_run_of_no_point_in_time_is_refused(tmp_path: Path, field: str, text: str) -> None:
    Evidence.begin(tmp_path, run(), NOTHING)
    value = (text,) if field == "resumed" else text
    (tmp_path / RUN).write_text(sealed(run().model_copy(update={field: value})))
    with pytest.raises(UsageError) as caught:
        load(tmp_path)
    assert (caught.value.code, field in caught.value.got) == ("RUN001", True)


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    evidence = Evidence.begin(tmp_path, run(), NOTHING)
    kept = evidence.run.expectations
    (tmp_path / kept.path).unlink()
    os.mkfifo(tmp_path / kept.path)
    for look in (check, verified):
        with pytest.raises(EvidenceSpoiled) as caught:
            look(tmp_path, kept)
        assert caught.value.got == "no plain file"


def test_a_link_to_itself_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    evidence = Evidence.begin(tmp_path, run(), NOTHING)
    kept = evidence.run.expectations
    (tmp_path / kept.path).unlink()
    (tmp_path / kept.path).symlink_to(kept.path.rpartition("/")[2])
    for look in (check, verified):
        with pytest.raises(EvidenceSpoiled):
            look(tmp_path, kept)


def test_a_path_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceSpoiled):
        check(tmp_path, Artefact(path="raw/\0", sha256="0" * 64))


def test_an_artefact_is_named_from_the_folder_with_its_hash(tmp_path: Path) -> None:
    evidence = Evidence.begin(tmp_path, run(), NOTHING)
    path = evidence.raw("pairs/compute-0/a+b/forward", "stdout")
    path.write_bytes(b"\x00\xff")
    assert evidence.kept(path) == Artefact(
        path="raw/pairs/compute-0/a+b/forward.stdout", sha256=canonical.sha256(b"\x00\xff")
    )


def test_a_file_that_changes_while_it_is_read_is_refused_at_its_end(tmp_path: Path) -> None:
    evidence = Evidence.begin(tmp_path, run(), NOTHING)
    path = evidence.raw("kernel-log/a", "stdout")
    path.write_bytes(b"x" * (3 * BLOCK))
    kept = evidence.kept(path)
    check(tmp_path, kept)
    reading = parts_of(tmp_path, kept)
    assert len(next(reading)) == BLOCK
    with path.open("r+b") as file:
        file.seek(2 * BLOCK)
        file.write(b"y")
    with pytest.raises(EvidenceSpoiled):
        list(reading)


def test_a_long_file_is_not_held_as_a_whole(tmp_path: Path) -> None:
    evidence = Evidence.begin(tmp_path, run(), NOTHING)
    path = evidence.raw("kernel-log/a", "stdout")
    path.write_bytes(b"x" * (24 * BLOCK))
    kept = evidence.kept(path)
    tracemalloc.start()
    check(tmp_path, kept)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * BLOCK
