"""`rackwright nics`: the plan as table and JSON, and what it cannot answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rackwright.cli.frame import run

if TYPE_CHECKING:
    Capture = pytest.CaptureFixture[str]


def test_as_json(capsys: Capture) -> None:
    assert run(["nics", "p6-b300.48xlarge", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    interfaces = document.pop("interfaces")
    assert document == {
        "schema": "rackwright/nics/1",
        "platform": "p6-b300.48xlarge",
        "scheme": "recommended",
        "efa_interfaces": 16,
        "addresses": 1,
    }
    assert interfaces[:2] == [
        {"network_card_index": 0, "device_index": 0, "interface_type": "interface"},
        {"network_card_index": 1, "device_index": 0, "interface_type": "efa-only"},
    ]
    assert len(interfaces) == 17


def test_as_a_table(capsys: Capture) -> None:
    assert run(["nics", "p5.4xlarge", "--scheme", "efa"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "p5.4xlarge, scheme efa",
        "interfaces    1",
        "with EFA      1, together 100 Gb/s",
        "with an IP    1",
        "card  device  type",
        "   0       0  efa",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["p6-b30.48xlarge"], "USE001", "`p6-b300.48xlarge`"),
        (["dgx-h100"], "USE001", "p5.48xlarge"),
        (["p6e-gb300.36xlarge"], "USE001", ""),
        (["p5en.48xlarge", "--scheme", "ena-max"], "NIC001", "recommended"),
        (["lab1.2rail"], "PLAT003", "network cards"),
        (["p5.48xlarge", "--scheme", "most"], "USE001", "ena-max"),
    ],
)
def test_what_it_cannot_answer(arguments: list[str], code: str, hint: str, capsys: Capture) -> None:
    assert run(["nics", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert code in captured.err
    assert hint in captured.err
