"""The stages of `make lab`, in the order of the flow."""

from __future__ import annotations

from bootstrap import lab


def test_the_stages_come_in_the_order_of_the_flow() -> None:
    names = ["lab up", "plan", "up", "inventory", "converge", "validate"]
    assert [stage.name for stage in lab.up("x.yaml")] == names
    assert all("x.yaml" in stage.command for stage in lab.up("x.yaml"))
