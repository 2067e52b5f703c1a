"""Logs of a node against the table of codes: faults are named, asked for, and silence never passes."""

from __future__ import annotations

import pytest

from rackwright.catalogue.model import Check
from rackwright.validate.expectations import Expectations
from rackwright.validate.measure import measure
from rackwright.validate.model import Measurements, Tool
from rackwright.validate.parsers.sealing import seal
from rackwright.verdict.codes import Action, codes
from rackwright.verdict.judge import judge
from rackwright.verdict.model import Reason, Value
from tests.doubles.judging import named
from tests.doubles.one_check import first, run_of, text_of, verdict

NODE = "node-001"
LOGS = run_of(Check.KERNEL_LOG, Tool.DMESG, (NODE,))
DIAGNOSES = run_of(Check.DCGM_DIAG, Tool.DCGM_DIAG, (NODE,))
BOOT = "[    0.000000] Linux version 6.8.0-45-generic\n"


def _log(*lines: str) -> str:
    return seal(BOOT + "".join(f"{line}\n" for line in lines))


def _xid(at: float, code: int, text: str = "pid=1", bus: str = "0000:1b:00") -> str:
    return f"[{at:12.6f}] NVRM: Xid (PCI:{bus}): {code}, {text}"


def _reason(text: str) -> Reason:
    return first(verdict(LOGS, {NODE: text}), NODE)


def test_a_log_without_events_passes() -> None:
    assert _reason(text_of("dmesg/good")).value is Value.PASS


def test_a_gpu_that_fell_off_the_bus_fails_its_node_and_says_what_to_do() -> None:
    found = _reason(text_of("dmesg/off-the-bus-without-xid"))
    assert (found.value, found.criterion) == (Value.FAIL, "device-codes")
    assert found.cause == "0000:9b:00: it fell off the bus"
    assert found.action == codes().actions[codes().fallen_off_bus.action].format(node=NODE)


def test_of_several_devices_the_one_that_asks_for_most_is_named() -> None:
    found = _reason(text_of("dmesg/events"))
    assert found.value is Value.FAIL
    assert found.cause == "0000:1b:00: Xid 79, and 1 more device"


def test_events_that_are_no_fault_are_told_and_pass() -> None:
    found = _reason(_log(_xid(10, 43), _xid(20, 31)))
    assert found.value is Value.PASS
    assert found.cause == "2 events, none of a fault: Xid 31"


@pytest.mark.parametrize(
    ("lines", "measured", "cause", "source"),
    [
        ((_xid(10, 79), _xid(20, 43), _xid(30, 64), _xid(40, 31)), "64", "Xid 64", "aws"),
        ((_xid(10, 79), _xid(20, 119), _xid(30, 43)), "79", "Xid 79", "nvidia"),
        (
            tuple(_xid(10 * n, code) for n, code in enumerate((119, 79, 119, 119, 119, 43))),
            "119",
            "5 ",
            "nvsentinel",
        ),
        ((_xid(10, 79), _xid(20, 79, bus="0000:43:00"), _xid(30, 64)), "64", "Xid 64, and 1 more ", "aws"),
        ((_xid(10, 999), _xid(20, 31)), "999", "Xid 999 (not in the table)", ""),
    ],
)
def test_the_event_that_decides_is_the_one_that_is_shown(
    lines: tuple[str, ...], measured: str, cause: str, source: str
) -> None:
    """Whatever came after it, of this device or of others."""
    found = _reason(_log(*lines))
    assert (found.value, found.measured) == (Value.FAIL, measured)
    assert found.cause.startswith(f"0000:1b:00: {cause}")
    said = codes().sources[source].text if source else ""
    assert said in found.provenance
    assert bool(found.provenance) is bool(source)


@pytest.mark.parametrize("code", [79, 64, 999])
def test_a_fatal_code_names_its_source(code: int) -> None:
    found = _reason(_log(_xid(10, code)))
    assert found.value is Value.FAIL
    assert found.evidence
    assert found.provenance.startswith("published: ") or code == 999


def test_an_error_of_programs_that_comes_back_on_one_unit_is_a_fault() -> None:
    here, there = "Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0)", "on (GPC 3, TPC 0, SM 1)"
    assert _reason(_log(_xid(10, 13, here), _xid(60, 13, there))).value is Value.PASS
    found = _reason(_log(_xid(10, 13, here), _xid(60, 13, here)))
    assert found.value is Value.FAIL
    assert "comes back on one unit" in found.cause


def test_five_fatal_events_in_a_day_take_the_gpu_out() -> None:
    four, five = (_reason(_log(*(_xid(10 * n, 119) for n in range(count)))) for count in (4, 5))
    assert "5 fatal events within 24 h" not in four.cause
    assert "5 fatal events within 24 h" in five.cause
    assert "out of service" in five.action


@pytest.mark.parametrize(
    ("case", "value", "cause"),
    [
        ("journal", Value.FAIL, "0000:1b:00: the same fault after 2 reboots"),
        ("journal-one-boot", Value.FAIL, "0000:1b:00: Xid 79"),
        ("journal-old", Value.PASS, "no event of a device"),
        ("journal-earlier-boot", Value.PASS, "1 events, none of a fault: all are of earlier boots"),
        ("journal-no-entries", Value.ERROR, ""),
    ],
)
def test_earlier_boots_are_no_fault_and_tell_what_came_back(case: str, value: Value, cause: str) -> None:
    found = _reason(text_of(f"dmesg/{case}"))
    assert found.value is value
    assert found.cause == cause or not cause
    if case == "journal":
        assert found.action == codes().actions[Action.INSPECT].format(node=NODE)


def test_the_driver_s_own_word_counts_beside_the_table() -> None:
    asks = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
    found = _reason(_log(_xid(10, 43), _xid(11, 154, asks)))
    assert found.value is Value.FAIL
    assert "the driver asks for it" in found.cause
    nothing = "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
    kept = _reason(_log(_xid(10, 79), _xid(11, 154, nothing)))
    assert (kept.value, kept.cause) == (Value.FAIL, "0000:1b:00: Xid 79"), "it takes nothing back"


@pytest.mark.parametrize("case", ["cut-off", "no-stamps", "nothing-not-sealed", "unknown-form"])
def test_a_log_that_is_not_whole_or_not_understood_never_passes(case: str) -> None:
    assert _reason(text_of(f"dmesg/{case}")).value is Value.ERROR


def test_silence_of_a_log_without_its_last_line_is_no_evidence_and_a_fault_in_it_is() -> None:
    harmless = BOOT + _xid(10, 43) + "\n"
    assert _reason(harmless).value is Value.ERROR
    said = {one.cause for one in named(verdict(LOGS, {NODE: harmless}), NODE).reasons}
    assert "its log has no last line: what it does not show may have been cut off" in said
    assert _reason(harmless + _xid(11, 79) + "\n").value is Value.FAIL


def _diagnosis(case: str) -> Reason:
    return first(verdict(DIAGNOSES, {NODE: text_of(f"dcgm-diag/{case}")}), NODE)


@pytest.mark.parametrize(
    ("case", "value"),
    [
        ("good-3", Value.PASS),
        ("good-4", Value.PASS),
        ("fail-3-gpu-3", Value.FAIL),
        ("fail-4-gpu-3", Value.FAIL),
        ("skip-4", Value.NOT_RUN),
        ("cut-off", Value.ERROR),
        ("gpu-missing-4", Value.ERROR),
        ("unknown-root", Value.ERROR),
        ("summary-contradicts", Value.ERROR),
    ],
)
def test_a_diagnosis_is_judged_by_its_words(case: str, value: Value) -> None:
    found = _diagnosis(case)
    assert found.value is value
    assert found.action or value is Value.PASS


def test_a_word_of_dcgm_that_nobody_knows_is_an_error() -> None:
    measured = measure(DIAGNOSES, lambda _: text_of("dcgm-diag/good-4"))
    first_one, *rest = measured.measurements
    odd = first_one.model_copy(update={"value": "perhaps"})
    found = judge(DIAGNOSES, Measurements(measurements=(odd, *rest)), Expectations(expectations=()))
    said = next(one for one in named(found, NODE).reasons if one.criterion == "dcgm-diagnosis")
    assert (said.value, said.measured) == (Value.ERROR, "perhaps")


def test_a_failed_test_asks_for_something_whatever_the_severity_of_its_error() -> None:
    text = text_of("dcgm-diag/fail-4-gpu-3").replace('"error_severity": 2', '"error_severity": 1')
    said = first(verdict(DIAGNOSES, {NODE: text}), NODE)
    assert (said.value, said.action) == (Value.FAIL, codes().actions[Action.LOOK])


def test_a_failed_test_names_its_gpu() -> None:
    assert "GPU 3" in _diagnosis("fail-4-gpu-3").cause
    assert "GPU 3" in _diagnosis("fail-3-gpu-3").cause


def test_a_pass_with_a_warning_is_no_pass() -> None:
    assert _diagnosis("warned-pass-4").value in (Value.NOT_RUN, Value.FAIL)


@pytest.mark.parametrize("run", [LOGS, DIAGNOSES])
def test_nothing_is_no_pass(run: object) -> None:
    assert first(verdict(run, {NODE: ""}), NODE).value is Value.ERROR  # type: ignore[arg-type] # (of a test)
