"""NCCL's own log against the plan: the wrong way is a fault by its name, and silence is no pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright import canonical
from rackwright.catalogue.model import Check
from rackwright.validate.expectations import Expectations
from rackwright.validate.limits import transports
from rackwright.validate.measure import measure
from rackwright.validate.model import Tool, Unit
from rackwright.validate.parsers.sealing import seal
from rackwright.verdict import given
from rackwright.verdict.model import Reason, Value
from tests.doubles.one_check import first, planned, run_of, text_of, verdict

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.validate.expectations import Expectation

NODES = ("node-001", "node-002")
RUN = run_of(Check.TRANSPORT, Tool.NCCL_LOG, NODES, together=True)
WAYS = transports().fabrics


def _expected(kind: str, nics: int) -> tuple[Expectation, ...]:
    way = WAYS[kind]
    found = [
        planned(Check.TRANSPORT, "network", one_of=way.network),
        planned(Check.TRANSPORT, "nics", at_least=nics, at_most=nics),
        planned(Check.TRANSPORT, "gpudirect", at_least=1, unit=Unit.YES_NO),
    ]
    if way.provider:
        found.append(planned(Check.TRANSPORT, "provider", one_of=way.provider))
    return tuple(found)


def _changed(case: str, *changes: tuple[str, str], without: str = "\0") -> str:
    """A log of a case with other words, sealed anew."""
    lines = text_of(f"nccl-log/{case}").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("# rackwright") and without not in line)
    for old, new in changes:
        text = text.replace(old, new)
    return seal(text)


def _reason(text: str, kind: str = "efa", nics: int = 32) -> Reason:
    return first(verdict(RUN, {NODES[0]: text}, _expected(kind, nics)), NODES[0])


def test_the_planned_way_passes() -> None:
    found = _reason(text_of("nccl-log/efa"))
    assert (found.value, found.criterion) == (Value.PASS, "transport")


def test_sockets_where_efa_is_planned_fail_by_name() -> None:
    found = _reason(text_of("nccl-log/socket"))
    assert found.value is Value.FAIL
    assert found.cause == "NCCL used network Socket, and AWS Libfabric or Libfabric is planned"
    assert "FI_PROVIDER" in found.action


def test_gpudirect_that_is_off_fails_although_the_network_is_right() -> None:
    found = _reason(text_of("nccl-log/infiniband-no-gpudirect"), "infiniband", 2)
    assert (found.value, found.cause) == (
        Value.FAIL,
        "GPUs are not reached directly: GPUDirect RDMA is off",
    )


@pytest.mark.parametrize("nics", [1, 3])
def test_another_number_of_nics_than_planned_fails(nics: int) -> None:
    on = ("GPU Direct RDMA Disabled", "GPU Direct RDMA Enabled"), ("via NET/IB/0", "via NET/IB/0/GDRDMA")
    text = _changed("infiniband-no-gpudirect", *on)
    assert _reason(text, "infiniband", 2).value is Value.PASS
    found = _reason(text, "infiniband", nics)
    assert (found.value, found.cause) == (Value.FAIL, f"NCCL used 2 NICs, and {nics} are planned")


def test_another_provider_fails_by_name() -> None:
    text = _changed("efa", ("provider is efa, fabric is efa-direct", "provider is tcp, fabric is tcp"))
    assert _reason(text).cause == "NCCL used provider tcp, and efa is planned"


def test_a_log_that_does_not_tell_of_what_is_planned_does_not_pass() -> None:
    text = _changed("efa", without=" via NET/")
    found = _reason(text)
    assert (found.value, found.cause) == (Value.NOT_RUN, "the log does not tell of gpudirect")


def test_without_a_plan_of_it_nothing_passes() -> None:
    assert first(verdict(RUN, {NODES[0]: text_of("nccl-log/efa")}), NODES[0]).value is Value.NOT_RUN


@pytest.mark.parametrize("case", ["rank-missing", "not-nccl", "two-networks"])
def test_a_log_that_is_not_whole_is_an_error(case: str) -> None:
    assert _reason(text_of(f"nccl-log/{case}")).value is Value.ERROR


def test_a_node_that_wrote_no_line_is_an_error() -> None:
    run = run_of(Check.TRANSPORT, Tool.NCCL_LOG, (*NODES, "node-003"), together=True)
    found = verdict(run, {NODES[0]: text_of("nccl-log/efa")}, _expected("efa", 32))
    assert first(found, "node-003").value is Value.ERROR


def test_each_pool_of_a_platform_is_held_to_its_own_fabric() -> None:
    """EFA on both: right where the node's own pool is planned for it, and a fault in the other pool."""
    run = RUN.model_copy(update={"pools": {"p5": NODES[:1], "hall": NODES[1:]}})
    expected = tuple(
        one.model_copy(update={"key": one.key.model_copy(update={"pool": pool})})
        for pool, kind, nics in (("p5", "efa", 32), ("hall", "infiniband", 2))
        for one in _expected(kind, nics)
    )
    found = verdict(run, {NODES[0]: text_of("nccl-log/efa")}, expected)
    assert first(found, NODES[0]).value is Value.PASS
    assert first(found, NODES[1]).cause.startswith("NCCL used network AWS Libfabric, and IB")


@pytest.mark.parametrize("all_platforms", [False, True])
def test_an_operators_figure_stands_for_that_of_each_pool(tmp_path: Path, *, all_platforms: bool) -> None:
    """A key that says more would outrank it in silence."""
    (nics,) = (one for one in _expected("efa", 32) if one.key.name == "nics")
    assert nics.key.platform
    open_key = nics.key.model_copy(update={"platform": None} if all_platforms else {})
    of_pools = tuple(
        nics.model_copy(update={"key": nics.key.model_copy(update={"pool": pool})}) for pool in ("p5", "hall")
    )
    own = nics.model_copy(update={"key": open_key, "at_least": 16.0})
    path = tmp_path / "expect.json"
    path.write_text(canonical.dumps(Expectations(expectations=(own,))))
    run = RUN.model_copy(update={"pools": {"p5": NODES[:1], "hall": NODES[1:]}})
    measured = measure(run, lambda _: text_of("nccl-log/efa"))
    found = given.over(Expectations(expectations=of_pools), path, run, measured).expectations
    assert [(one.key.pool, one.at_least) for one in found] == [(None, 16.0)]
