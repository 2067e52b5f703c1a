"""On the lab's containers, which share a kernel: their platform sets nothing, so nothing of it is there.

What it does where something is set is shown in guests with kernels of their own: tests/kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.roles.conftest import HOSTS

if TYPE_CHECKING:
    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab


def test_a_platform_without_settings_leaves_no_trace(site: Site) -> None:
    for name in HOSTS:
        left = site.host(name).check_output("find /etc /usr/local /run/rackwright -name '*tuning*'")
        assert left == ""
