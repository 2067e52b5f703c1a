"""Who fails again and again: a run is told of earlier ones when it begins, and keeps what it was told."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from rackwright import canonical
from rackwright.errors import EvidenceSpoiled, UsageError
from rackwright.validate.evidence import Evidence
from rackwright.verdict import folder as folders
from rackwright.verdict.history import earlier, rule
from rackwright.verdict.model import Value
from tests.doubles import runs
from tests.doubles.judging import named, reason

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.validate.history import History
    from rackwright.verdict.model import Reason, Verdict

NOW = datetime(2026, 11, 28, 8, tzinfo=UTC)
NODE = "node-002"
MACHINES = {name: f"serial-{name}" for name in runs.World().nodes}
ILL, WELL = "slow-rail", "pass"


def write(runs_folder: Path, world: str, days: float, machines: dict[str, str] | None = None) -> Path:
    """A judged run that began so many days ago."""
    began = NOW - timedelta(days=days)
    folder = runs.build(runs_folder / began.strftime("%Y-%m-%dT%H%M%SZ"), world)
    run = runs.load(folder)
    stamp = began.isoformat().replace("+00:00", "Z")
    finished = (began + timedelta(minutes=1)).isoformat().replace("+00:00", "Z")
    about = {"started": stamp, "finished": finished, "machines": machines or MACHINES}
    runs.save(folder, run.model_copy(update=about))
    folders.judge_folder(folder)
    return folder


def told(runs_folder: Path, machines: dict[str, str] | None = None) -> History:
    return earlier(runs_folder, "lab", NOW, machines or MACHINES)


def judged(runs_folder: Path, world: str = WELL) -> Verdict:
    """The verdict on a run that begins now, told of those that lie beside it."""
    return folders.judge_folder(begun(runs_folder, world)).verdict


def begun(runs_folder: Path, world: str = WELL, machines: dict[str, str] | None = None) -> Path:
    folder = runs.build(runs_folder / "now", world)
    run = runs.load(folder)
    (folder / "run.json").unlink()
    expectations = runs.expectations(runs.WORLDS[world])
    kept = folder.rename(runs_folder.parent / "kept")
    before = told(runs_folder, machines)
    made = Evidence.begin(folder, run.model_copy(update={"steps": ()}), expectations, before)
    shutil.copytree(kept / "raw", folder / "raw")
    made.write(steps=run.steps)
    return folder


def of(verdict: Verdict, node: str = NODE) -> Reason:
    return reason(named(verdict, node), "repeat-offender")


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def history(there: Path, *worlds: str) -> None:
    """Runs of one day after the other, the last of them yesterday."""
    for number, world in enumerate(worlds):
        write(there, world, len(worlds) - number)


def test_a_node_that_is_put_right_and_fails_again_and_again_is_told_though_it_passes_now(there: Path) -> None:
    history(there, ILL, WELL, ILL, WELL, ILL)
    found = judged(there)
    assert (found.verdict, of(found).value) == (Value.FAIL, Value.FAIL)
    assert of(found).cause.startswith("it was put right and failed again, 3 times within 30 days: ")
    assert of(found).cause.count(f"pair-bandwidth of {NODE}/r1 on 2026-11-2") == 3
    assert [one.path for one in of(found).evidence] == ["history.json"]
    assert of(found).action.startswith(f"Take {NODE} out of service")
    assert of(found, "node-001").value is Value.PASS
    assert named(found, "node-001").verdict is Value.PASS


def test_twice_is_told_and_passes(there: Path) -> None:
    history(there, ILL, WELL, ILL)
    assert (judged(there).verdict, rule().faults) == (Value.PASS, 3)


def test_a_fault_that_many_runs_saw_is_one_until_the_node_has_passed(there: Path) -> None:
    history(there, ILL, ILL, ILL, ILL, ILL)
    found = of(judged(there))
    assert found.value is Value.PASS
    assert found.cause.startswith("it failed once within 30 days: ")


def test_what_it_fails_by_now_counts_too(there: Path) -> None:
    history(there, ILL, WELL, ILL, WELL)
    found = judged(there, ILL)
    assert of(found).value is Value.FAIL
    assert "on 2026-11-28" in of(found).cause
    assert reason(named(found, f"{NODE}/r1"), "pair-bandwidth").value is Value.FAIL


def test_a_run_in_which_it_was_not_measured_says_nothing(there: Path) -> None:
    history(there, ILL, "killed-node", ILL, "killed-node", ILL, "killed-node")
    assert of(judged(there)).value is Value.PASS


def test_what_is_older_than_the_window_is_forgiven(there: Path) -> None:
    for days in (rule().window_days + 2, 5, 3):
        write(there, ILL, days)
        write(there, WELL, days - 1)
    assert len(told(there).runs) == 4
    assert of(judged(there)).value is Value.PASS


def test_another_machine_in_the_slot_begins_anew(there: Path) -> None:
    history(there, ILL, WELL, ILL, WELL, ILL)
    assert told(there).nodes.keys() == MACHINES.keys()
    assert told(there, {**MACHINES, NODE: "another"}).nodes.keys() == MACHINES.keys() - {NODE}
    assert told(there, {"node-001": MACHINES["node-001"]}).nodes.keys() == {"node-001"}


def test_of_a_machine_that_no_run_tells_of_nothing_is_said(there: Path) -> None:
    """Nobody passes on no evidence."""
    history(there, WELL, WELL)
    folder = begun(there, machines={**MACHINES, NODE: "another"})
    found = folders.judge_folder(folder).verdict
    judged_by = {
        one.name: [reason.criterion for reason in one.reasons] for one in found.subjects if one.kind == "node"
    }
    assert "repeat-offender" not in judged_by[NODE]
    assert "repeat-offender" in judged_by["node-001"]


def test_a_day_up_to_which_a_node_is_forgiven(there: Path) -> None:
    history(there, ILL, WELL, ILL, WELL, ILL)
    (there / "cleared.yaml").write_text(f"{NODE}: 2026-11-25\n", encoding="utf-8")
    assert len(told(there).nodes[NODE]) == 2
    assert told(there).cleared == {NODE: "2026-11-25"}
    assert of(judged(there)).value is Value.PASS


@pytest.mark.parametrize(
    "text",
    ["node-002", "node-002: soon", "[", "- node-002", "node-002: 2026-02-30", "[node-002]: 2026-11-25"],
)
def test_what_does_not_say_whom_to_forgive_is_refused(there: Path, text: str) -> None:
    history(there, ILL)
    (there / "cleared.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        told(there)
    assert (caught.value.code, caught.value.where) == ("VAL011", str(there / "cleared.yaml"))


def test_runs_that_say_nothing_are_named_and_not_counted(there: Path) -> None:
    spoiled, cut_off, mixed = (write(there, ILL, days) for days in (4, 3, 2))
    (spoiled / "run.json").write_text("{}", encoding="utf-8")
    (cut_off / "verdict.json").unlink()
    shutil.copy(write(there, WELL, 1) / "verdict.json", mixed / "verdict.json")
    found = told(there)
    assert found.unread.keys() == {spoiled.name, cut_off.name, mixed.name}
    assert len(found.runs) == 1
    assert earlier(there, "another", NOW, MACHINES).runs == ()


def test_a_folder_whose_name_is_no_text_is_told_of_as_any_other(there: Path) -> None:
    """A copy from a system of another encoding: no history could be written that named it."""
    spoiled, good = (write(there, ILL, days) for days in (2, 1))
    (spoiled / "verdict.json").unlink()
    for one in (spoiled, good):
        one.rename(one.with_name(f"{one.name}\udcff"))
    found = told(there)
    assert found.unread.keys() == {f"{spoiled.name}\\udcff"}
    assert found.runs == (f"{good.name}\\udcff",)
    assert "verdict.json" in canonical.dumps(found)


def test_a_run_that_was_cut_off_counts_neither_way_though_it_was_judged(there: Path) -> None:
    """Half a run neither acquits a node nor, where it goes on, is the last word on it."""
    for days, world in ((2, ILL), (1, WELL)):
        folder = write(there, world, days)
        runs.save(folder, runs.load(folder).model_copy(update={"finished": None}))
        folders.judge_folder(folder)
    found = told(there)
    assert (found.runs, found.nodes) == ((), {})
    assert all("has not come to its end" in why for why in found.unread.values())
    assert len(found.unread) == 2


def test_its_own_word_is_no_fault(there: Path) -> None:
    """Else who was told of once would fail for ever."""
    history(there, ILL, WELL, ILL, WELL, ILL)
    told_of = begun(there)
    assert folders.judge_folder(told_of).verdict.verdict is Value.FAIL
    run = runs.load(told_of)
    runs.save(told_of, run.model_copy(update={"machines": MACHINES}))
    later = earlier(there, "lab", NOW + timedelta(hours=1), MACHINES)
    assert [one.failed for one in later.nodes[NODE]] == [True, False, True, False, True, False]


def test_the_verdict_is_the_same_wherever_the_folder_lies(there: Path, tmp_path: Path) -> None:
    history(there, ILL, WELL, ILL, WELL, ILL)
    folder = begun(there)
    before = folders.judge_folder(folder).verdict
    alone = shutil.copytree(folder, tmp_path / "elsewhere" / "run")
    shutil.rmtree(there)
    assert folders.judge_folder(alone).verdict == before


def test_a_history_that_was_changed_stops_the_judge(there: Path) -> None:
    history(there, ILL)
    folder = begun(there)
    text = (folder / "history.json").read_text(encoding="utf-8")
    (folder / "history.json").write_text(text.replace("true", "false"), encoding="utf-8")
    with pytest.raises(EvidenceSpoiled):
        folders.judge_folder(folder)


def test_who_has_no_earlier_run_is_not_judged_by_them(there: Path, tmp_path: Path) -> None:
    assert "repeat-offender" in judged(there).not_applicable
    alone = folders.load(runs.build(tmp_path / "alone", WELL)).verdict
    assert alone.not_applicable["repeat-offender"] == "it was told of no earlier run"
    assert alone.verdict is Value.PASS
