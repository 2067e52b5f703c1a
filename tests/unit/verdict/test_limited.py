"""GPUs and ports against their limits: each limit turns its own planted fault red, and none finds nothing."""

from __future__ import annotations

import json

import pytest

from rackwright.catalogue.model import Check
from rackwright.validate.expectations import Expectations
from rackwright.validate.limits import Limit, limits
from rackwright.validate.measure import measure
from rackwright.validate.model import Measurements, Tool, Unit
from rackwright.validate.parsers.lines import seal
from rackwright.validate.parsers.sealing import seal as sealed
from rackwright.verdict.judge import judge
from rackwright.verdict.model import Reason, Value
from tests.doubles.judging import named
from tests.doubles.one_check import exchanging, first, limits_of, planned, run_of, text_of, verdict

NODE = "node-001"
GPUS = run_of(Check.GPU_STATE, Tool.NVIDIA_SMI, (NODE,))
PORTS = run_of(Check.COUNTERS, Tool.COUNTERS, (NODE,))
COLUMNS = {
    "recovery_action": ("gpu_recovery_action", "None", "Reset"),
    "row_remap_failure": ("remapped_rows.failure", "No", "Yes"),
    "row_remap_pending": ("remapped_rows.pending", "No", "Yes"),
    "sram_uncorrected_aggregate": ("ecc.errors.uncorrected.aggregate.sram", "4", "5"),
    "hw_slowdown": ("clocks_event_reasons.hw_slowdown", "Not Active", "Active"),
    "hw_thermal_slowdown": ("clocks_event_reasons.hw_thermal_slowdown", "Not Active", "Active"),
    "hw_power_brake_slowdown": ("clocks_event_reasons.hw_power_brake_slowdown", "Not Active", "Active"),
    "sw_power_cap": ("clocks_event_reasons.sw_power_cap", "Active", "Active"),
}
"""Limit → column, a value within it and one beyond; the last has no limit."""


def _name(limit: Limit) -> str:
    return str(next(iter(limit.parameters.values()), limit.name))


GPU_LIMITS = [_name(one) for one in limits().limits if one.check == Check.GPU_STATE]
RATES = [one for one in limits().limits if one.check == Check.COUNTERS and one.parameters]


def test_each_value_that_tells_of_a_fault_has_a_limit() -> None:
    """A limit that goes takes its case above with it."""
    assert set(GPU_LIMITS) == COLUMNS.keys() - {"sw_power_cap"}
    assert {_name(one) for one in RATES} == {
        *("link_downed", "carrier_down_count", "excessive_buffer_overrun_errors"),
        *("local_link_integrity_errors", "rnr_nak_retry_err", "symbol_error", "link_error_recovery"),
        *("roce_slow_restart", "rx_drops", "cmds_err"),
    }


def _smi(bad: str = "", without: str = "", gpus: int = 2) -> str:
    shown = {name: column for name, column in COLUMNS.items() if name != without}
    head = ", ".join(["index", "count", *(column for column, _, _ in shown.values())])
    rows = [
        ", ".join(
            [
                str(gpu),
                str(gpus),
                *((ill if name == bad and gpu else well) for name, (_, well, ill) in shown.items()),
            ]
        )
        for gpu in range(gpus)
    ]
    return sealed("\n".join([head, *rows]) + "\n")


def _gpus(text: str) -> Reason:
    expected = (*limits_of(Check.GPU_STATE), planned(Check.GPU_STATE, "gpus", at_least=2, at_most=2))
    return first(verdict(GPUS, {NODE: text}, expected), NODE)


def test_gpus_that_are_well_pass() -> None:
    assert (_gpus(_smi()).value, _gpus(_smi()).criterion) == (Value.PASS, "gpu-state")


@pytest.mark.parametrize("limit", GPU_LIMITS)
def test_each_limit_of_gpus_sees_its_fault_and_names_the_gpu(limit: str) -> None:
    found = _gpus(_smi(bad=limit))
    assert (found.value, found.criterion) == (Value.FAIL, "gpu-state")
    assert limit in found.cause
    assert "gpu 1" in found.cause
    assert found.provenance.startswith("published: ")


@pytest.mark.parametrize("limit", GPU_LIMITS)
def test_a_value_that_nobody_asked_for_leaves_the_node_unjudged(limit: str) -> None:
    found = _gpus(_smi(without=limit))
    assert (found.value, found.cause.endswith("selects no value")) == (Value.NOT_RUN, True)


def _unsealed(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("# rackwright"))


def test_output_on_gpus_without_its_last_line_does_not_pass_and_a_fault_in_it_is_one() -> None:
    """It may have been cut off, and what it does not show with it."""
    lacking = _gpus(_unsealed(_smi()))
    assert (lacking.value, "may have been cut off" in lacking.cause) == (Value.ERROR, True)
    assert _gpus(_unsealed(_smi(bad="row_remap_failure"))).value is Value.FAIL
    links = run_of(Check.GPU_STATE, Tool.NVLINK, (NODE,))
    up = planned(Check.GPU_STATE, "nvlinks_up", at_least=1, unit=Unit.YES_NO)
    whole = text_of("nvlink/good")
    assert first(verdict(links, {NODE: whole}, (up,)), NODE).value is Value.PASS
    assert first(verdict(links, {NODE: _unsealed(whole)}, (up,)), NODE).value is Value.ERROR


@pytest.mark.parametrize("name", ["gpus", "sealed"])
def test_output_on_gpus_of_which_a_part_was_not_read_does_not_pass(name: str) -> None:
    measured = measure(GPUS, lambda _: _smi())
    kept = tuple(one for one in measured.measurements if one.name != name)
    expected = Expectations(expectations=limits_of(Check.GPU_STATE))
    found = judge(GPUS, Measurements(measurements=kept), expected)
    assert first(found, NODE).value is Value.ERROR


def test_power_that_is_capped_by_software_is_no_fault() -> None:
    assert _gpus(_smi(bad="sw_power_cap")).value is Value.PASS


@pytest.mark.parametrize("gpus", [1, 3])
def test_another_number_of_gpus_than_the_platform_has_fails(gpus: int) -> None:
    assert (_gpus(_smi(gpus=gpus)).value, _gpus(_smi(gpus=gpus)).cause) == (Value.FAIL, f"gpus is {gpus}")


@pytest.mark.parametrize("case", ["gpu-lost", "gpu-missing", "no-count", "unknown-column", "unknown-error"])
def test_output_on_gpus_that_is_not_whole_is_an_error(case: str) -> None:
    assert _gpus(text_of(f"nvidia-smi/{case}")).value is Value.ERROR


def _counters(seconds: float = 60.0, sent: int = 4000, down_s: float | None = None, **grown: int) -> str:
    lines = []
    for at, share in ((100.0, 0), (100.0 + seconds, 1)):
        values = {"port_xmit_data": sent * share, "port_rcv_errors": 9 * share}
        values |= {name: 7 + count * share for name, count in grown.items()}
        about = {"host": NODE, "device": "mlx5_0", "port": 1, "ports": 1, "at_s": at, "values": values}
        watched = {} if down_s is None else {"down_s": down_s * share}
        lines.append(seal({"schema": "rackwright/counters/1", "kind": "sample", **about, **watched}))
    return "\n".join(lines) + "\n"


def _ports(text: str) -> Reason:
    return first(verdict(PORTS, {NODE: text}, limits_of(Check.COUNTERS)), NODE)


def test_quiet_ports_pass_and_what_has_no_limit_is_listed() -> None:
    found = verdict(PORTS, {NODE: _counters(symbol_error=1)}, limits_of(Check.COUNTERS))
    assert first(found, NODE).value is Value.PASS
    assert list(found.not_judged) == ["counters: port_rcv_errors"]


@pytest.mark.parametrize("limit", [one for one in RATES if one.at_most is not None], ids=_name)
def test_each_limit_of_ports_sees_its_fault(limit: Limit) -> None:
    counter, most = _name(limit), limit.at_most or 0
    per_minute = 60 if limit.name == "rate" else 1
    within, beyond = int(most * per_minute), int(most * per_minute) + 1
    assert _ports(_counters(**{counter: within})).value is Value.PASS
    found = _ports(_counters(**{counter: beyond}))
    assert (found.value, found.criterion) == (Value.FAIL, "port-counters")
    assert f"{counter} ({limit.name}) of device mlx5_0 port 1" in found.cause


def test_the_same_growth_over_a_longer_time_is_no_fault() -> None:
    assert _ports(_counters(60, symbol_error=30)).value is Value.FAIL
    assert _ports(_counters(3600, symbol_error=30)).value is Value.PASS


@pytest.mark.parametrize(("down_s", "value"), [(6.9, Value.PASS), (7.1, Value.FAIL)])
def test_time_without_a_link_counts_and_not_how_often_it_went(down_s: float, value: Value) -> None:
    assert _ports(_counters(link_downed=3)).value is Value.FAIL
    found = _ports(_counters(down_s=down_s, link_downed=3))
    assert found.value is value
    assert value is Value.PASS or found.cause == "down of device mlx5_0 port 1 is 7.1 s"


def _two_ports(watched: str) -> str:
    """Both ports lost their link three times; of one it was watched for how long."""
    lines = []
    for at, share in ((100.0, 0), (160.0, 1)):
        for device in ("mlx5_0", "mlx5_1"):
            values = {"port_xmit_data": 4000 * share, "link_downed": 7 + 3 * share}
            about = {"host": NODE, "device": device, "port": 1, "ports": 2, "at_s": at, "values": values}
            down = {"down_s": 1.0 * share} if device == watched else {}
            lines.append(seal({"schema": "rackwright/counters/1", "kind": "sample", **about, **down}))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("watched", "other"), [("mlx5_0", "mlx5_1"), ("mlx5_1", "mlx5_0")])
def test_how_long_one_port_was_down_says_nothing_of_another(watched: str, other: str) -> None:
    found = _ports(_two_ports(watched))
    assert (found.value, found.cause) == (Value.FAIL, f"link_downed (growth) of device {other} port 1 is 3")


def test_counters_that_do_not_tell_what_was_sent_prove_no_traffic() -> None:
    lines = [json.loads(line) for line in _counters(link_downed=0).splitlines()]
    for line in lines:
        del line["crc32"], line["values"]["port_xmit_data"]
    text = "".join(f"{seal(line)}\n" for line in lines)
    found = verdict(exchanging(PORTS), {NODE: text}, limits_of(Check.COUNTERS))
    said = next(one for one in named(found, NODE).reasons if one.criterion == "traffic")
    assert (said.value, said.cause) == (Value.NOT_RUN, "no counter of its ports tells what was sent")


def test_ports_over_which_nothing_went_prove_nothing() -> None:
    idle, expected = {NODE: _counters(sent=0)}, limits_of(Check.COUNTERS)
    found = first(verdict(exchanging(PORTS), idle, expected), NODE)
    assert (found.value, found.criterion, found.cause) == (Value.FAIL, "traffic", "nothing left its ports")
    alone = first(verdict(PORTS, idle, expected), NODE)
    assert (alone.value, alone.criterion) == (Value.NOT_RUN, "traffic"), "nobody was there to send to"


def test_counters_without_any_limit_do_not_pass() -> None:
    assert first(verdict(PORTS, {NODE: _counters()}), NODE).value is Value.NOT_RUN


def test_every_limit_names_its_source_and_its_date() -> None:
    known = limits()
    assert {one.source for one in known.limits} <= set(known.sources)
