"""Many hosts in one stack: resources grow with host sets, and each host is powered on once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.site import Site

HOSTS_PER_SET, OTHERS = 32, 20


@pytest.mark.engine
@pytest.mark.parametrize("hosts", [256, pytest.param(3072, marks=pytest.mark.slow)])
def test_resources_grow_with_host_sets_and_not_with_hosts(make_site: Callable[..., Site], hosts: int) -> None:
    site = make_site(hosts)
    site.bmc("node-100").password = "another"  # noqa: S105 (the double's)
    answer = site.stack("up", "--yes", code=2)
    assert {failure["subject"]: failure["code"] for failure in answer["failures"]} == {
        "node-100": "BMC004"
    }, answer["failures"]
    assert len(site.checkpoint()["resources"]) <= hosts // HOSTS_PER_SET + OTHERS
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1) | {"node-100": 0}
    site.bmc("node-100").password = "secret"  # noqa: S105
    assert site.stack("up", "--yes")["resources"] == {"same": hosts // HOSTS_PER_SET + 1, "update": 1}
    assert site.hall.asked("On") == dict.fromkeys(site.hall.bmcs, 1)
