"""Asset files: every row gets to its slot, and every mistake is shown at its file, line and column."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import pytest
from ruamel.yaml import YAML

from rackwright.findings import Finding, Place
from rackwright.spec import faults as codes
from rackwright.spec.assets import COLUMNS
from rackwright.spec.load import load

if TYPE_CHECKING:
    from collections.abc import Callable

    Write: TypeAlias = Callable[..., Path]
    Faults: TypeAlias = Callable[[Path], list[Finding]]


class Mistake(NamedTuple):
    """A whole asset file, and the finding it leads to."""

    csv: str
    code: str
    line: int
    column: int
    got: str
    expected: str
    hint: str = ""


HEADER = ",".join(COLUMNS) + "\n"
HEAD = "head-001,LAB-0001,10.77.1.16,02:77:01:00:00:10,02:77:00:00:00:10,,\n"
NODE = "node-001,LAB-0002,10.77.1.17,02:77:01:00:00:11,02:77:00:00:00:11,,\n"


def test_rows_in_any_order_of_columns_and_spelling_of_addresses(lab: Write) -> None:
    csv = (
        "\ufeffserial, slot ,state,boot_mac,bmc_mac,bmc_address,hca_guids\n"
        '"S,1",node-002,maintenance,02-77-00-00-00-AB,0A:77:01:00:00:10,,0x0002C903:00A1B2C0;0002c90300a1b2c1\n'
        "\n"
    )
    loaded = load(lab(csv=csv))
    row = loaded.rows["node-002"]
    assert list(loaded.rows) == ["node-002"]
    assert (row.asset.serial, row.bmc_address, row.asset.maintenance) == ("S,1", "", True)
    assert (row.asset.boot_mac, row.asset.bmc_mac) == ("02:77:00:00:00:ab", "0a:77:01:00:00:10")
    assert row.asset.hca_guids == ("0x0002c90300a1b2c0", "0x0002c90300a1b2c1")
    assert row.place.line == 2


MISTAKES = [
    Mistake(**row)
    for row in YAML(typ="safe").load(
        Path(__file__).with_name("asset_mistakes.yaml").read_text(encoding="utf-8")
    )
]


@pytest.mark.parametrize("one", MISTAKES, ids=lambda one: f"{one.code}-{one.got}")
def test_one_mistake_is_one_finding(one: Mistake, lab: Write, faults: Faults) -> None:
    spec = lab(csv=one.csv)
    (finding,) = faults(spec)
    assert finding.code == one.code
    assert finding.place == Place(spec.parent / "assets/lab.csv", one.line, one.column)
    assert str(finding.path) == "pools.head.assets"
    assert one.got in finding.got
    assert one.expected in finding.expected
    assert one.hint in finding.hint


def test_every_code_of_asset_files_is_shown() -> None:
    shown = {one.code for one in MISTAKES} | {codes.ASSET_DUPLICATE}
    assert shown == {code for code in codes.CODES if code.startswith("ASSET")}


@pytest.mark.parametrize(
    ("what", "copied"),
    [
        ("slot head-001", NODE.replace("node-001", "head-001")),
        ("serial LAB-0001", NODE.replace("LAB-0002", "LAB-0001")),
        ("MAC address 02:77:01:00:00:10", NODE.replace("02:77:01:00:00:11", "02:77:01:00:00:10")),
        ("MAC address 02:77:00:00:00:10", NODE.replace("02:77:01:00:00:11", "02:77:00:00:00:10")),
        ("BMC address 10.77.1.16", NODE.replace("10.77.1.17", "10.77.1.16")),
    ],
)
def test_what_is_given_twice_is_shown_with_both_places(
    what: str, copied: str, lab: Write, faults: Faults
) -> None:
    spec = lab(csv=HEADER + HEAD + copied)
    (finding,) = faults(spec)
    file = spec.parent / "assets/lab.csv"
    assert finding.code == codes.ASSET_DUPLICATE
    assert finding.message == f"{what} is given twice"
    assert finding.place == Place(file, 3, 1)
    assert f"{file}:2:1" in finding.expected


def test_guids_are_given_once_too(lab: Write, faults: Faults) -> None:
    rows = (HEAD + NODE).replace(",,\n", ",0002c90300a1b2c0,\n")
    (finding,) = faults(lab(csv=HEADER + rows))
    assert finding.message.startswith("GUID 0x0002c90300a1b2c0")


def test_all_mistakes_of_a_file_at_once(lab: Write, faults: Faults) -> None:
    found = faults(
        lab(csv=HEADER + HEAD.replace("02:77:01", "zz") + NODE.replace("10.77.1.17", "x") + "n,,,,,,\n")
    )
    assert [one.place.line for one in found if one.place] == [2, 3, 4]


def test_two_files_of_one_site_share_no_serial_and_files_are_read_once(lab: Write, faults: Faults) -> None:
    spec = lab({'    assets: "file:assets/lab.csv"\n  node:': '    assets: "file:assets/head.csv"\n  node:'})
    (spec.parent / "assets/head.csv").write_text(HEADER + HEAD.replace("LAB-0001", "LAB-0003"))
    (spec.parent / "assets/lab.csv").write_text(
        HEADER
        + NODE
        + NODE.replace("0002", "0003")
        .replace("node-001", "node-002")
        .replace(".17", ".18")
        .replace(":11", ":12")
    )
    (finding,) = faults(spec)
    assert finding.message == "serial LAB-0003 is given twice"
    assert finding.place == Place(spec.parent / "assets/lab.csv", 3, 1)
    assert "head.csv:2:1" in finding.expected


def test_rows_of_a_pool_that_names_another_file_are_not_used(lab: Write) -> None:
    spec = lab({'    assets: "file:assets/lab.csv"\n  node:': "  node:"})
    assert list(load(spec).rows) == ["node-001", "node-002", "node-003"]


def test_a_missing_file_is_shown_where_the_spec_names_it(lab: Write, faults: Faults) -> None:
    spec = lab()
    (spec.parent / "assets/lab.csv").rename(spec.parent / "assets/lab2.csv")
    (finding,) = faults(spec)
    assert finding.code == codes.ASSET_FILE
    assert finding.place == Place(spec, 27, 13)
    assert "nothing there" in finding.got
    assert "lab2.csv" in finding.hint


def test_a_quote_that_is_never_closed(lab: Write, faults: Faults) -> None:
    spec = lab(csv=HEADER + HEAD.replace("LAB-0001", '"LAB-0001') + NODE)
    assert [one.code for one in faults(spec)] == [codes.ASSET_COLUMN]


def test_three_thousand_rows_cost_little(lab: Write) -> None:
    rows = [
        f"node-{n:03d},S{n:06d},10.80.{n >> 8}.{n & 255},02:00:00:00:{n >> 8:02x}:{n & 255:02x},"
        f"02:01:00:00:{n >> 8:02x}:{n & 255:02x},{n:016x};{n + 2**32:016x},\n"
        for n in range(1, 3073)
    ]
    took = {}
    for count in (384, 3072):
        some = "".join(rows[:count])
        path = lab({"{static: 3}": f"{{static: {count}}}"}, csv=HEADER + some)
        began = time.process_time()
        assert len(load(path).rows) == count
        took[count] = time.process_time() - began
    assert took[3072] < 24 * took[384], "eight times the rows; benchmarks hold the figure"
