"""A stack that reads another's outputs: its preview has nothing to show until that one was up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright.cli.deploy import Prepared, run
from rackwright.cli.output import Console
from rackwright.errors import GOOD, INCOMPLETE
from rackwright.plan.model import Plan
from rackwright.provision.operate import Operation
from rackwright.provision.places import Folders
from rackwright.provision.stacks import stacks

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.site import Site


@pytest.mark.engine
def test_a_preview_whose_input_stack_was_never_up_is_not_run(
    make_site: Callable[..., Site], capsys: pytest.CaptureFixture[str]
) -> None:
    site = make_site()
    site.run("stacks", "init")
    plan = Plan.model_validate_json((site.state / "plan.json").read_text())
    [own] = stacks(plan)
    reading = replace(own, inputs=("onprem",))  # its own project: the only one there is
    prepared = Prepared(plan, [reading], Folders(spec=site.folder, state=site.state))
    assert run(Operation.PREVIEW, prepared, Console()) == INCOMPLETE
    assert f"not run: its input stack onprem/{site.stack_name} was never up" in capsys.readouterr().out
    assert not any(bmc.asked for bmc in site.hall.bmcs.values())
    site.run("up", "--yes")
    assert run(Operation.PREVIEW, prepared, Console()) == GOOD
