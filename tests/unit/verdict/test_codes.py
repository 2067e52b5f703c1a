"""What codes ask for: the table is whole, says where it comes from, and repetition asks for more."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from rackwright.verdict.codes import Action, Codes, Entry, Event, asked, codes, of_dcgm, rank

TABLE = codes()
ENTRIES = [*TABLE.xid, *TABLE.sxid, *TABLE.dcgm.errors, TABLE.fallen_off_bus, TABLE.unknown]
GPU = "0000:1b:00"


def xid(code: int, **about: object) -> Event:
    return Event(**{"kind": "xid", "code": str(code), "device": GPU, **about})  # type: ignore[arg-type]  # (of a test)


def test_every_fatal_code_has_an_action() -> None:
    assert [entry for entry in ENTRIES if entry.fatal and entry.action in (Action.NONE, None)] == []
    assert all(entry.when_fatal is not Action.NONE for entry in ENTRIES)


def test_what_is_no_fault_asks_for_no_more_than_any_fault() -> None:
    """So that what a device is told to ask for is by the event that is its fault."""
    events = [*TABLE.xid, *TABLE.sxid, TABLE.fallen_off_bus, TABLE.unknown]
    harmless = max(rank(entry.action) for entry in events if not entry.fatal)
    assert harmless <= min(rank(entry.action) for entry in events if entry.fatal)


def test_a_table_with_a_fatal_code_and_no_action_is_refused() -> None:
    with pytest.raises(ValidationError, match="nobody is to do anything"):
        Entry(codes=(79,), action=Action.NONE, fatal=True)


def test_every_action_is_said_in_words() -> None:
    assert set(TABLE.actions) == set(Action)


def test_every_entry_names_a_source_that_is_dated() -> None:
    entries = [entry for entry in ENTRIES if entry is not TABLE.unknown]
    named = [entry.source for entry in entries] + [
        other.source for entry in entries for other in entry.disagreements
    ]
    named += [rule.source for rule in TABLE.escalation] + [
        TABLE.recovery.source,
        TABLE.dcgm.severities.source,
    ]
    assert set(named) <= set(TABLE.sources)
    assert set(TABLE.sources) <= set(named)


@pytest.mark.parametrize("table", ["xid", "sxid"])
def test_no_code_stands_twice(table: str) -> None:
    listed = [code for entry in getattr(TABLE, table) for code in entry.codes]
    assert len(set(listed)) == len(listed)


@pytest.mark.parametrize(
    ("code", "action", "fatal"),
    [
        (79, Action.REBOOT, True),
        (43, Action.NONE, False),
        (63, Action.NONE, False),
        (94, Action.RESTART_APP, False),
        (95, Action.RESET_GPU, True),
        (64, Action.ISOLATE, True),
        (54, Action.INSPECT, True),
        (999, Action.LOOK, True),
    ],
)
def test_a_code_asks_for_what_its_sources_say(code: int, action: Action, *, fatal: bool) -> None:
    (found,) = asked([xid(code)])
    assert (found.action, found.fatal) == (action, fatal)


def test_sources_that_disagree_are_all_kept() -> None:
    said = {other.source: other.action for other in TABLE.entry("xid", 64).disagreements}
    assert said == {"nvidia": Action.RESET_GPU, "gpud": Action.RESET_GPU, "aws-before": Action.RESET_GPU}


@pytest.mark.parametrize(
    ("word", "action"),
    [
        ("GPU Reset Required", Action.RESET_GPU),
        ("Node Reboot Required", Action.REBOOT),
        ("None", Action.NONE),
    ],
)
def test_what_the_driver_asks_for_counts_by_its_last_word(word: str, action: Action) -> None:
    (found,) = asked(
        [xid(154, text=f"GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 ({word})")]
    )
    assert found.action is action


def test_words_of_the_driver_that_are_not_known_are_a_fault() -> None:
    (found,) = asked([xid(154, text="GPU recovery action changed to 0x9 (Ask Again)")])
    assert (found.action, found.fatal) == (Action.LOOK, True)


@pytest.mark.parametrize(("severity", "action"), [("fatal", Action.RESET_GPU), ("nonfatal", Action.LOOK)])
def test_an_nvlink_event_is_taken_by_its_own_severity(severity: str, action: Action) -> None:
    (found,) = asked([xid(145, severity=severity)])
    assert (found.action, found.fatal) == (action, severity == "fatal")


def test_a_gpu_off_the_bus_needs_no_xid() -> None:
    (found,) = asked([Event("fallen_off_bus", GPU, GPU)])
    assert (found.action, found.fatal) == (Action.REBOOT, True)


def test_a_switch_event_that_is_possibly_fatal_is_taken_by_its_word() -> None:
    (found,) = asked([Event("sxid", "11001", "0000:c1:00.0", severity="fatal")])
    assert found.action is Action.RESET_GPU


def test_the_same_fault_after_two_reboots_is_hardware() -> None:
    (once,) = asked([xid(79), xid(79, boot=1)])
    (again,) = asked([xid(79), xid(79, boot=1), xid(79, boot=2)])
    assert (once.action, again.action) == (Action.REBOOT, Action.INSPECT)


def test_what_did_not_come_back_in_the_boot_that_runs_asks_for_nothing() -> None:
    before = [xid(79), xid(79, boot=1), xid(79, boot=2)]
    assert asked([*before, xid(43, boot=3)])[0].action is Action.NONE
    assert asked(before, boot=3) == ()
    five = [xid(119, at_s=number) for number in range(5)]
    assert asked([*five, xid(119, at_s=90_000, boot=1)])[0].action is Action.RESET_GPU


@pytest.mark.parametrize(("apart_s", "action"), [(3600, Action.ISOLATE), (86400, Action.RESET_GPU)])
def test_five_fatal_events_in_a_day_take_a_gpu_out(apart_s: int, action: Action) -> None:
    (found,) = asked([xid(119, at_s=number * apart_s) for number in range(5)])
    assert found.action is action


def test_an_error_of_programs_is_the_hardware_s_only_where_it_comes_back_on_one_unit() -> None:
    (one,) = asked([xid(13, unit="GPC 1 TPC 2"), xid(13, unit="GPC 1 TPC 2", at_s=60)])
    (others,) = asked([xid(13, unit="GPC 1 TPC 2"), xid(13, unit="GPC 3 TPC 0", at_s=60)])
    assert (one.action, others.action) == (Action.INSPECT, Action.RESTART_APP)


def test_devices_are_judged_apart_and_by_their_worst() -> None:
    found = asked([xid(43), xid(79), Event("xid", "43", "0000:43:00")])
    assert [(one.device, one.action) for one in found] == [(GPU, Action.REBOOT), ("0000:43:00", Action.NONE)]


def test_the_event_and_the_source_that_decide_are_kept() -> None:
    (alone,) = asked([xid(79, at_s=1), xid(43, at_s=2)])
    assert (alone.event.code, alone.source) == ("79", "nvidia")
    (again,) = asked([xid(119, at_s=number) for number in range(5)])
    assert (again.event.at_s, again.source) == (4, "nvsentinel")
    (asks,) = asked([xid(43), xid(154, text="to 0x2 (Node Reboot Required)")])
    assert (asks.event.code, asks.because) == ("154", "the driver asks for it: Node Reboot Required")


@pytest.mark.parametrize(
    ("error_id", "severity", "action"),
    [
        (126, 1, Action.REBOOT),
        (42, 2, Action.ISOLATE),
        (42, 3, Action.LOOK),
        (42, 6, Action.RESET_GPU),
        (42, None, Action.LOOK),
    ],
)
def test_an_error_of_dcgm_is_taken_by_its_id_and_else_by_its_severity(
    error_id: int, severity: int | None, action: Action
) -> None:
    assert of_dcgm(error_id, severity)[0] is action


def test_the_table_knows_its_keys() -> None:
    with pytest.raises(ValidationError):
        Codes.model_validate({**TABLE.model_dump(by_alias=True), "zid": []})
