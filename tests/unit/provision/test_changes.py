"""What differs between hosts as found and as wanted, slot by slot."""

from __future__ import annotations

import pytest

from rackwright.provision.notes import FailureNote
from rackwright.provision.onprem.changes import changes, drift
from rackwright.provision.onprem.model import FoundHost, WantedHost

_NOTE = FailureNote(code="BMC001", cause="no answer", hint="look")


_HOST = {
    "bmc_address": "10.1.0.16",
    "serial": "S1",
    "boot_mac": "02:00:00:00:00:01",
    "held": "",
    "power": "on",
}


def _wanted(**differing: object) -> WantedHost:
    return WantedHost.model_validate({**_HOST, **differing})


def _found(**differing: object) -> FoundHost:
    return FoundHost.model_validate({**_HOST, "found_serial": "S1", **differing})


@pytest.mark.parametrize(
    ("found", "wanted", "told"),
    [
        (None, _wanted(), ["n: power none -> on"]),
        (None, _wanted(held="maintenance", power="held"), ["n: power none -> held"]),
        (_found(), None, ["n: slot forgotten"]),
        (_found(), _wanted(), []),
        (_found(power="off"), _wanted(), ["n: power off -> on"]),
        (_found(power="unknown", failure=_NOTE, found_serial=""), _wanted(), ["n: power unknown -> on"]),
        (
            _found(power="unknown", failure=_NOTE, found_serial="S9"),
            _wanted(),
            ["n: serial S9 -> S1", "n: power unknown -> on"],
        ),
        (_found(), _wanted(serial="S2"), ["n: serial S1 -> S2"]),
        (
            _found(),
            _wanted(boot_mac="02:00:00:00:00:02"),
            ["n: boot_mac 02:00:00:00:00:01 -> 02:00:00:00:00:02"],
        ),
        (_found(), _wanted(bmc_address="10.1.0.17"), ["n: bmc_address 10.1.0.16 -> 10.1.0.17"]),
        (
            _found(),
            _wanted(held="maintenance", power="held"),
            ["n: held none -> maintenance", "n: power on -> held"],
        ),
        (
            _found(held="maintenance", power="held", found_serial=""),
            _wanted(held="maintenance", power="held"),
            [],
        ),
        (
            _found(held="maintenance", power="held", found_serial=""),
            _wanted(),
            ["n: held maintenance -> none", "n: power held -> on"],
        ),
    ],
)
def test_each_difference_is_one_line(
    found: FoundHost | None, wanted: WantedHost | None, told: list[str]
) -> None:
    there, meant = ({"n": found} if found else {}), ({"n": wanted} if wanted else {})
    assert [str(change) for change in changes(there, meant)] == told


def test_slots_come_in_their_order() -> None:
    wanted = {slot: _wanted() for slot in ("b", "c", "a")}
    assert [change.slot for change in changes({"d": _found()}, wanted)] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (_found(), _found(), []),
        (_found(), _found(power="off"), ["n: power on -> off"]),
        (
            _found(),
            _found(power="unknown", found_serial="S9"),
            ["n: power on -> unknown", "n: serial S1 -> S9"],
        ),
        (_found(), _found(power="unknown", found_serial=""), ["n: power on -> unknown"]),
        (
            _found(power="unknown", found_serial="S9"),
            _found(),
            ["n: power unknown -> on", "n: serial S9 -> S1"],
        ),
    ],
)
def test_drift_is_what_became_of_a_host_between_two_looks(
    before: FoundHost, after: FoundHost, told: list[str]
) -> None:
    assert [str(change) for change in drift({"n": before, "gone": before}, {"n": after})] == told
