"""Controllers that misbehave: each has its code and its cause, within 10 s, and is never asked twice."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

import pytest

from rackwright.errors import SubjectFailed
from rackwright.provision.onprem.bounded import LIMITS, Limits
from rackwright.provision.onprem.reconcile import bring_up, look
from tests.doubles.redfish import Fault, listening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwright.errors import Failure
    from tests.unit.provision.conftest import Ground

ONE, TWO = "node-001", "node-002"
WITHIN_S = 10
ONE_AFTER_THE_OTHER_S = 4 * LIMITS.silence_s
"""What the four that say nothing, or too little, would take at least."""
QUICK = Limits(connect_s=1, silence_s=1, request_s=1.5)
"""The same in little: what each fault is called does not depend on the limits."""

_EXPECTED = {
    Fault.DEAF: ("BMC002", "without a whole answer"),
    Fault.MUTE: ("BMC002", "without a whole answer"),
    Fault.TRICKLE: ("BMC002", "without a whole answer"),
    Fault.HALF: ("BMC002", "without a whole answer"),
    Fault.CLOSED: ("BMC001", "got a connection that was closed, expected an answer"),
    Fault.RESET: ("BMC001", "got a connection that was closed, expected an answer"),
    Fault.PLAIN: ("BMC001", "got a connection that is no TLS, expected an answer"),
    Fault.FOREIGN: ("BMC003", "unable to get local issuer certificate"),
    Fault.MISPLACED: ("BMC003", "certificate is not valid for '127.78.0.1'"),
    Fault.LOGIN_PAGE: ("BMC006", "that are no JSON"),
    Fault.LIST: ("BMC006", "that are no JSON"),
    Fault.SHAPE: ("BMC006", "not as Redfish has it"),
    Fault.UNAVAILABLE: ("BMC005", "got HTTP 503"),
    Fault.BUSY: ("BMC005", "got HTTP 503"),
    Fault.DEAF_TO_POWER: ("BMC002", "without a whole answer"),
}


def _failure(ground: Ground) -> Failure:
    with pytest.raises(SubjectFailed) as raised:
        bring_up(ONE, ground.wanted()[ONE], ground.limited(QUICK))
    return raised.value.failures[0]


def test_every_fault_of_a_controller_has_an_expectation() -> None:
    assert set(_EXPECTED) | {Fault.STUCK} == set(Fault)


@pytest.mark.parametrize("fault", list(_EXPECTED), ids=lambda fault: fault.name.lower())
def test_a_fault_is_told_by_code_host_cause_and_hint(ground: Ground, fault: Fault) -> None:
    ground.bmc(ONE).fault = fault
    failure = _failure(ground)
    code, cause = _EXPECTED[fault]
    assert (failure.subject, failure.code) == (ONE, code)
    assert cause in failure.cause
    assert "BMC 127.78.0.1" in failure.cause
    assert failure.hint
    assert ground.bmc(ONE).asked["On"] == (1 if fault is Fault.DEAF_TO_POWER else 0)


@pytest.mark.parametrize(("fault", "kind"), [(Fault.UNAVAILABLE, "GET"), (Fault.BUSY, "refused")])
def test_nothing_that_was_refused_is_asked_again(ground: Ground, fault: Fault, kind: str) -> None:
    ground.bmc(ONE).fault = fault
    _failure(ground)
    assert ground.bmc(ONE).asked[kind] == 1


def test_a_power_on_without_an_answer_is_adopted_next_time(ground: Ground) -> None:
    ground.bmc(ONE).fault = Fault.DEAF_TO_POWER
    _failure(ground)
    ground.bmc(ONE).fault = None
    assert bring_up(ONE, ground.wanted()[ONE], ground.access).power == "on"
    assert ground.bmc(ONE).asked["On"] == 1


def test_a_wrong_password_is_told_and_not_shown(ground: Ground) -> None:
    ground.bmc(ONE).password = "another"  # noqa: S105 (the double's)
    failure = _failure(ground)
    assert failure.code == "BMC004"
    assert "401" in failure.cause
    assert "secret" not in repr(failure)
    assert "secret" not in repr(ground.access)


def test_nobody_listening_is_told(ground: Ground) -> None:
    access = ground.access
    with socket.socket() as free:
        free.bind(("127.78.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(SubjectFailed) as raised:
        look(ONE, ground.wanted()[ONE], type(access)(port, access.ca, access.credentials))
    assert raised.value.failures[0].code == "BMC001"
    assert "connection refused" in raised.value.failures[0].cause


@pytest.fixture
def blackhole(ground: Ground) -> Iterator[Ground]:
    """Ground whose first controller's machine drops every SYN: its queue of connections is full."""
    address = ground.bmc(ONE).address
    with listening(ground.hall.port, address, backlog=0):
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.settimeout(0)
            one.connect_ex((address, ground.hall.port))
        yield ground
        for one in waiting:
            one.close()


def test_an_address_that_does_not_answer_is_told(blackhole: Ground) -> None:
    failure = _failure(blackhole)
    assert failure.code == "BMC001"
    assert "no connection within" in failure.cause
    assert bring_up(TWO, blackhole.wanted()[TWO], blackhole.access).power == "on"


def test_a_slow_controller_that_answers_is_no_fault(ground: Ground) -> None:
    ground.bmc(ONE).answer_delay_s = 0.3
    begun = time.monotonic()
    assert bring_up(ONE, ground.wanted()[ONE], ground.limited(QUICK)).power == "on"
    assert time.monotonic() - begun > QUICK.request_s


def test_each_fault_is_known_within_10_s_and_keeps_no_good_host_waiting(
    make_ground: Callable[..., Ground],
) -> None:
    ground = make_ground(2 * len(_EXPECTED))
    bad = dict(zip(ground.hall.bmcs, _EXPECTED, strict=False))
    for slot, fault in bad.items():
        ground.bmc(slot).fault = fault
    begun = time.monotonic()
    found = ground.reconciler.each(bring_up, ground.wanted(), ground.access)
    assert time.monotonic() - begun < ONE_AFTER_THE_OTHER_S
    assert max(LIMITS.connect_s + LIMITS.silence_s, LIMITS.request_s) <= WITHIN_S
    told = {slot: host.failure.code for slot, host in found.items() if host.failure}
    assert told == {slot: _EXPECTED[fault][0] for slot, fault in bad.items()}
    assert {ground.bmc(slot).power for slot in found if slot not in bad} == {"On"}


def test_neither_proxies_nor_netrc_of_the_environment_are_asked(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere")
    assert look(ONE, ground.wanted()[ONE], ground.access).power == "off"
