"""Sections of figures: what is drawn of whom, and whose fault it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright.validate.expectations import Expectation, Expectations
from rackwright.validate.model import Measurement, Measurements, Step, Tool, Unit
from rackwright.verdict.report.figures import UNITS
from rackwright.verdict.units import THROUGHPUT
from tests.doubles.reported import SIZES, Reported, measured, names, reported, step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.unit.verdict.report.conftest import Element

    Page = Callable[[Reported], Element]

FAR = "outside its bound by a factor of two or more"
SLOW = reported(slow="node-002")


def section(page: Element, name: str) -> Element:
    return next(one for one in page.all("section") if one.attributes["aria-labelledby"] == name)


def rows(table: Element) -> list[list[str]]:
    return [
        [cell.text for cell in row.walk() if cell.tag in {"th", "td"}]
        for body in table.all("tbody")
        for row in body.all("tr")
    ]


def marked(element: Element) -> list[str]:
    """What its marks say."""
    return [one.attributes["aria-label"] for one in element.of("mark")]


def measuring(values: Iterable[Measurement], subject: Reported = SLOW) -> Reported:
    """The same run with other measurements."""
    return replace(subject, measurements=Measurements(measurements=tuple(values)))


def test_pairs_are_a_square_from_sender_to_receiver_the_worst_rail_first(page: Page) -> None:
    first, second = section(page(SLOW), "pairs").of("matrix")
    assert first.all("caption")[0].text == "compute rail 1, Mbit/s"
    assert rows(first) == [
        ["node-001", "\N{EN DASH}", "12.1 ▼▼", "94.6"],
        ["node-002", "12.1 ▼▼", "\N{EN DASH}", "12.1 ▼▼"],
        ["node-003", "94.6", "12.1 ▼▼", "\N{EN DASH}"],
    ]
    assert marked(first) == [FAR] * 4
    assert marked(second) == []


def test_directions_of_a_pair_are_not_mixed_up(page: Page) -> None:
    made = step("pairs/compute-0/x", Tool.IPERF3, names(2))
    about = {"node": "node-001", "peer": "node-002", "fabric": "compute", "rail": 0}
    subject = measuring(
        [
            measured(made, "bandwidth", 90.0, Unit.MBIT_S, direction="forward", **about),
            measured(made, "bandwidth", 10.0, Unit.MBIT_S, direction="reverse", **about),
            measured(made, "bandwidth", 80.0, Unit.MBIT_S, direction="forward", **about),
        ]
    )
    (square,) = section(page(subject), "pairs").of("matrix")
    assert rows(square) == [["node-001", "\N{EN DASH}", "80"], ["node-002", "10", "\N{EN DASH}"]]


def test_a_pair_that_was_not_measured_is_not_empty(page: Page) -> None:
    kept = [one for one in SLOW.measurements.measurements if one.context.peer != "node-003"]
    square = section(page(measuring(kept)), "pairs").of("matrix")
    assert {cell for table in square for row in rows(table) for cell in row} == {
        *names(2),
        "\N{EN DASH}",
        "94.6",
        "12.1 ▼▼",
    }
    partly = [one for one in SLOW.measurements.measurements if one.context.direction != "reverse"]
    assert "not measured" in section(page(measuring(partly)), "pairs").text


def test_a_partner_of_a_slow_port_is_not_blamed(page: Page) -> None:
    worst = section(page(SLOW), "rails").of("bars")[0]
    assert [row[0] for row in rows(worst)] == ["node-002", "node-001", "node-003"]
    assert [row[2] for row in rows(worst)] == [
        "12.1 Mbit/s ▼▼",
        "12.1 \N{EN DASH} 94.6 Mbit/s",
        "12.1 \N{EN DASH} 94.6 Mbit/s",
    ]
    assert [bound.attributes["d"] for bound in worst.of("limit")] == ["M79.2 0v12"] * 3


def test_a_port_that_only_receives_slowly_is_marked(page: Page) -> None:
    def one_way(one: Measurement) -> Measurement:
        about = one.context
        receiver = about.peer if about.direction == "forward" else about.node
        slow = about.rail == 0 and receiver == "node-003"
        return one.model_copy(update={"value": 20.0}) if about.peer and slow else one

    subject = measuring(map(one_way, reported().measurements.measurements))
    worst = section(page(subject), "rails").of("bars")[0]
    assert [row[0] for row in rows(worst) if "▼" in row[2]] == ["node-003"]


def test_bandwidth_by_size_is_held_against_its_expectation(page: Page) -> None:
    panel = section(page(SLOW), "bandwidth").all("figure")[0]
    assert "2 of 3 points below. 0 wrong elements." in panel.text
    assert "node-001, node-002, node-003 (3 ranks)." in panel.text
    assert [cell.text for cell in panel.all("thead")[0].all("th")] == [
        "Size",
        "compute rail 0",
        "compute rail 1",
        "compute, all rails",
    ]
    table = rows(panel.all("table")[0])
    assert [row[0] for row in table] == ["4 MiB", "1 MiB", "256 KiB", "16 KiB", "1 KiB"]
    assert ["▼" in cell for cell in table[0]] == [False, False, True, True]
    lines = panel.of("chart")[0].of("line")
    assert [len(line.attributes["points"].split()) for line in lines] == [len(SIZES)] * 3


def test_wrong_elements_are_counted(page: Page) -> None:
    spoiled = [
        one.model_copy(update={"value": 7})
        if one.name == "wrong" and (one.context.collective, one.context.rail) == ("all_gather", 0)
        else one
        for one in SLOW.measurements.measurements
    ]
    panels = {
        one.all("h3")[0].text: one for one in section(page(measuring(spoiled)), "bandwidth").all("figure")
    }
    told = {name.split()[0]: panel.text for name, panel in panels.items()}
    assert f"{7 * len(SIZES)} wrong elements." in told["all-gather"]
    assert "0 wrong elements." in told["all-reduce"]


def test_of_several_values_at_a_size_the_lowest_counts(page: Page) -> None:
    fallen = [
        one.model_copy(update={"value": 1.5})
        for one in SLOW.measurements.measurements
        if one.unit is Unit.MBIT_S and one.context.collective == "all_reduce"
    ]
    risen = [one.model_copy(update={"value": 900.0}) for one in fallen]
    panel = section(page(measuring([*SLOW.measurements.measurements, *fallen, *risen])), "bandwidth")
    first = next(one for one in panel.all("figure") if one.all("h3")[0].text.startswith("all-reduce"))
    assert {cell.split()[0] for row in rows(first.all("table")[0]) for cell in row[1:]} == {"1.5"}


def test_a_single_size_has_bars_and_no_chart(page: Page) -> None:
    kept = [one for one in SLOW.measurements.measurements if one.context.size_bytes in {None, SIZES[-1]}]
    panel = section(page(measuring(kept)), "bandwidth").all("figure")[0]
    assert panel.of("chart") == []
    assert [row[0] for row in rows(panel.of("bars")[0])] == [
        "compute rail 1",
        "compute, all rails",
        "compute rail 0",
    ]


def test_the_odd_hash_comes_first_and_a_missing_carrier_is_marked(page: Page) -> None:
    odd = [
        one.model_copy(update={"value": "0" * 64 if one.name == "result_hash" else False})
        if one.name in {"result_hash", "carrier"} and one.context.node == "node-002" and one.context.rail != 0
        else one
        for one in SLOW.measurements.measurements
    ]
    table = section(page(measuring(odd)), "nodes").of("broad")[0].all("table")[0]
    told = rows(table)
    hashes = [row for row in told if row[0] == "matrix: result hash"]
    assert [row[2] for row in hashes] == ["node-002", "node-001, node-003"]
    assert hashes[0][1] == f"{'0' * 16}…"
    carriers = [row[1:] for row in told if row[0] == "links: carrier"]
    assert carriers[0] == ["no", "node-002/r1"]
    assert carriers[1][0] == "yes"


def test_parameters_tell_measurements_apart_only_where_a_subject_has_several(page: Page) -> None:
    made = step("memory/x", Tool.STRESS_NG, names(2))
    values = [
        measured(
            made, "bogo_ops", 5.0, Unit.OPS_S, node=node, parameters={"stressor": stressor, "reference": node}
        )
        for node in names(2)
        for stressor in ("vm", "memcpy")
    ]
    subject = measuring(values)
    run = subject.run.model_copy(update={"steps": (made,)})
    titles = [one.text for one in section(page(replace(subject, run=run)), "nodes").all("h3")]
    assert titles[:2] == ["memory: bogo ops, stressor vm", "memory: bogo ops, stressor memcpy"]


def test_without_any_measurement_every_section_says_so(page: Page) -> None:
    read = page(measuring([]))
    for name, words in (
        ("bandwidth", "No collective was measured."),
        ("pairs", "No pair was measured."),
        ("rails", "No rail was measured."),
        ("nodes", "No quantity was measured on a node alone."),
    ):
        assert words in section(read, name).text


def _having(values: list[Measurement], run_steps: tuple[Step, ...], *expected: Expectation) -> Reported:
    subject = measuring(values)
    run = subject.run.model_copy(update={"steps": run_steps})
    return replace(subject, run=run, expectations=Expectations(expectations=expected))


def _figure(key: dict[str, object], unit: Unit, **bound: object) -> Expectation:
    about = {"key": key, "unit": unit, "nominal": 1, "provenance": "published", "source": "a test"}
    return Expectation.model_validate({**about, **bound})


@pytest.mark.parametrize("unit", sorted(THROUGHPUT))
def test_a_collective_has_its_panel_whatever_its_tool_counts_in(page: Page, unit: Unit) -> None:
    made = step("nccl-tests/all_reduce", Tool.NCCL_TESTS, names(2))
    about = {"collective": "all_reduce", "ranks": 16, "nodes": names(2)}
    values = [measured(made, "busbw", 40.0 * n, unit, size_bytes=1 << (20 + n), **about) for n in (1, 2, 3)]
    key = {"check": "nccl-tests", "name": "busbw", "collective": "all_reduce", "size_bytes": 1 << 23}
    read = section(page(_having(values, (made,), _figure(key, unit, at_least=150))), "bandwidth")
    (panel,) = read.all("figure")
    assert panel.all("h3")[0].text == "all-reduce, nccl-tests ▼"
    assert panel.all("caption")[0].text == f"all-reduce, nccl-tests, {UNITS[unit]}"
    assert rows(panel) == [["8 MiB", "120 ▼"], ["4 MiB", "80"], ["2 MiB", "40"]]
    assert "all ranks" in panel.of("legend")[0].text


def test_programs_of_one_collective_are_not_mixed(page: Page) -> None:
    tools = (Tool.NCCL_TESTS, Tool.NCCOM_TEST)
    steps = tuple(step(f"{tool}/all_reduce", tool, names(2)) for tool in tools)
    values = [
        measured(
            made, name, value * scale, unit, collective="all_reduce", size_bytes=1024, ranks=2, nodes=names(2)
        )
        for scale, made in enumerate(steps, 1)
        for name, value, unit in (("busbw", 5.0, Unit.GB_S), ("wrong", 3, Unit.COUNT))
    ]
    read = section(page(_having(values, steps)), "bandwidth")
    shown = {panel.all("h3")[0].text: panel for panel in read.all("figure")}
    assert sorted(shown) == ["all-reduce, nccl-tests", "all-reduce, nccom-test"]
    assert "3 wrong elements." in shown["all-reduce, nccl-tests"].text
    assert "6 wrong elements." in shown["all-reduce, nccom-test"].text


@pytest.mark.parametrize("unit", sorted(THROUGHPUT))
def test_pairs_have_their_table_whatever_their_tool_counts_in(page: Page, unit: Unit) -> None:
    made = step("pairs/x", Tool.PERFTEST, names(2))
    value = measured(
        made, "bandwidth", 390.0, unit, node="node-001", peer="node-002", fabric="compute", rail=0
    )
    (square,) = section(page(_having([value], (made,))), "pairs").of("matrix")
    assert square.all("caption")[0].text == f"compute rail 0, {UNITS[unit]}"


def test_a_word_that_is_not_the_planned_one_is_marked(page: Page) -> None:
    made = step("transport/all", Tool.NCCL_LOG, names(3))
    words = {"node-001": "Socket", "node-002": "IB", "node-003": "IB"}
    values = [measured(made, "network", word, Unit.WORD, node=node) for node, word in words.items()]
    planned = _figure({"check": "transport", "name": "network"}, Unit.WORD, one_of=("IB", "IBext"))
    table = section(page(_having(values, (made,), planned)), "nodes").of("broad")[0].all("table")[0]
    assert rows(table) == [
        ["transport: network", "Socket ▼", "node-001"],
        ["transport: network", "IB", "node-002, node-003"],
    ]


def test_bars_are_worst_first_by_the_side_of_their_bound(page: Page) -> None:
    """Rates of a counter are bad where they are high, rates of work where they are low."""
    made = step("counters/all", Tool.COUNTERS, names(3))
    rates = dict(zip(names(3), (0.1, 0.9, 0.5), strict=True))
    values = [measured(made, "rate", rate, Unit.OPS_S, node=node) for node, rate in rates.items()]

    def order(*expected: Expectation) -> list[str]:
        plot = section(page(_having(values, (made,), *expected)), "nodes").of("bars")[0]
        return [row[0] for row in rows(plot)]

    most = _figure({"check": "counters", "name": "rate"}, Unit.OPS_S, at_most=2)
    assert order(most) == ["node-002", "node-003", "node-001"]
    assert order() == ["node-001", "node-003", "node-002"]


def _ports(nodes: int) -> tuple[list[Measurement], tuple[Step, ...]]:
    """Two ports of each node, by a counter that differs everywhere and one that is nought but once."""
    made = step("counters/all", Tool.COUNTERS, names(nodes))
    values = [
        measured(
            made,
            "growth",
            value,
            Unit.COUNT,
            node=node,
            parameters={"counter": counter, "device": f"mlx5_{port}", "port": 1, "text": f"{node} said"},
        )
        for number, node in enumerate(names(nodes))
        for port in (0, 1)
        for counter, value in (
            ("port_xmit_data", 2 * number + port),
            ("link_downed", int(number + port == 0)),
        )
    ]
    return values, (made,)


def test_devices_of_a_node_are_told_with_it_and_make_no_quantity_of_their_own(page: Page) -> None:
    values, steps = _ports(3)
    most = _figure(
        {"check": "counters", "name": "growth", "parameters": {"counter": "link_downed"}},
        Unit.COUNT,
        at_most=0,
    )
    table = section(page(_having(values, steps, most)), "nodes").of("broad")[0].all("table")[0]
    assert rows(table)[:2] == [
        ["counters: growth, counter link_downed", "1 ▼▼", "node-001 mlx5_0 port 1"],
        [
            "counters: growth, counter link_downed",
            "0",
            ", ".join(
                f"{node} mlx5_{port} port 1"
                for node in names(3)
                for port in (0, 1)
                if (node, port) != ("node-001", 0)
            ),
        ],
    ]
    assert {row[0] for row in rows(table)[2:]} == {"counters: growth, counter port_xmit_data"}


def test_of_a_counter_that_differs_on_each_port_some_are_told_and_the_rest_counted(page: Page) -> None:
    values, steps = _ports(40)
    read = page(_having(values, steps))
    shown = [
        row
        for row in rows(section(read, "nodes").of("broad")[0].all("table")[0])
        if "port_xmit_data" in row[0]
    ]
    assert len(shown) == 17
    assert shown[-1][1] == "And 64 more values: measurements.json has each of them."


def test_several_devices_of_a_node_are_one_bar_from_the_lowest_to_the_highest(page: Page) -> None:
    made = step("gpu-state/all", Tool.NVIDIA_SMI, names(2))
    values = [
        measured(made, "temperature", 60.0 + gpu, Unit.CELSIUS, node=node, parameters={"gpu": gpu})
        for node in names(2)
        for gpu in range(8)
    ]
    (plot,) = section(page(_having(values, (made,))), "nodes").of("bars")
    assert [row[::2] for row in rows(plot)] == [[node, "60 \N{EN DASH} 67 °C"] for node in names(2)]


def test_much_without_a_figure_is_folded_away_and_little_is_not(page: Page) -> None:
    made = step("gpu-state/all", Tool.NVIDIA_SMI, names(2))

    def having(count: int) -> Element:
        values = [
            measured(made, f"value_{number}", 1.0, Unit.CELSIUS, node="node-001") for number in range(count)
        ]
        odd = measured(made, "gpus", 7, Unit.COUNT, node="node-001")
        exact = _figure({"check": "gpu-state", "name": "gpus"}, Unit.COUNT, at_least=8, at_most=8)
        return section(page(_having([*values, odd], (made,), exact)), "nodes")

    few, many = having(8), having(9)
    assert few.all("details") == []
    (fold,) = many.all("details")
    assert fold.all("summary")[0].text == "Without a figure to hold them against: 9 quantities"
    assert "gpu-state: gpus" in many.of("broad")[0].text
    assert "gpu-state: gpus" not in fold.text
