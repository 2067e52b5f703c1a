"""Files of a pool's kernel settings: one a subject, none for what is not set."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.catalogue.tuning import Settings
from rackwright.plan.build import build
from rackwright.render.tuning import WANTED, files
from rackwright.spec.load import load

if TYPE_CHECKING:
    from rackwright.plan.model import PoolPlan


def pool(**settings: object) -> PoolPlan:
    """A pool of the lab's nodes, with settings."""
    plan, _ = build(load(paths.repository() / "clusters" / "lab.yaml"), load_catalogue(), None)
    return plan.pools["node"].model_copy(update={"tuning": Settings.model_validate(settings)})


def test_what_is_not_set_has_no_file() -> None:
    made = files(pool())
    assert list(made) == [WANTED]
    assert json.loads(made[WANTED])["settings"] == {}


def test_a_limit_is_for_logins_and_for_daemons() -> None:
    made = files(pool(limits={"memlock": "unlimited", "nofile": 1048576}))
    assert "* - memlock unlimited\n* - nofile 1048576\n" in made["limits.conf"]
    assert "DefaultLimitMEMLOCK=infinity\nDefaultLimitNOFILE=1048576\n" in made["system.conf"]


def test_arp_rules_are_of_each_rail() -> None:
    text = files(pool(rdma_arp=True))["sysctl.conf"]
    assert [line for line in text.splitlines() if "r1" in line] == [
        "net.ipv4.conf.r1.arp_announce = 1",
        "net.ipv4.conf.r1.arp_ignore = 2",
        "net.ipv4.conf.r1.rp_filter = 2",
    ]


def test_the_command_line_holds_all_that_is_decided_at_boot() -> None:
    made = files(
        pool(
            cmdline={"iommu": "pt", "nohz": True, "quiet": False},
            hugepages={"2M": 16},
            block_modules=["nouveau"],
        )
    )
    words = "iommu=pt nohz hugepagesz=2M hugepages=16 module_blacklist=nouveau"
    assert f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {words}"' in made["grub.cfg"]
    assert json.loads(made[WANTED])["settings"]["words"] == words.split()


def test_options_and_blocked_modules_share_the_file_of_modprobe() -> None:
    text = files(pool(module_options={"nvme": {"io_timeout": 30}}, block_modules=["nouveau"]))[
        "modprobe.conf"
    ]
    assert "options nvme io_timeout=30\n" in text
    assert "blacklist nouveau\ninstall nouveau /bin/false\n" in text
