"""On the lab's containers, which share a kernel: their platform sets nothing, so nothing of it is there.

What it does where something is set is shown in guests with kernels of their own: tests/kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.roles.conftest import HOSTS, NODES

if TYPE_CHECKING:
    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab


def test_a_platform_without_settings_leaves_no_trace(site: Site) -> None:
    for name in HOSTS:
        left = site.host(name).check_output("find /etc /usr/local /run -name '*tuning*'")
        assert left == ""


NOTE = "/var/lib/rackwright/kernel-tuning.json"
ENABLED = "/etc/systemd/system/multi-user.target.wants/rackwright-kernel-tuning.service"


def test_what_a_run_that_was_cut_off_has_left_goes_with_the_next(site: Site) -> None:
    """Its files were gone, and what is to give back the rest had not run."""
    host = site.host(NODES[0])
    host.check_output(f"mkdir -p $(dirname {NOTE}) && echo '{{}}' > {NOTE}")
    host.check_output(f"ln -s /etc/systemd/system/nothing {ENABLED}")
    run = site.converge("--tags", "configure", "--limit", NODES[0])
    assert run.code == 0, run.said
    assert not host.file(NOTE).exists
    assert not host.file(ENABLED).is_symlink
