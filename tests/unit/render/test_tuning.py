"""Files of a pool's kernel settings: one a subject, none for what is not set."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.catalogue.tuning import Settings
from rackwright.plan.build import build
from rackwright.plan.rdma_model import RdmaHost, RdmaNic
from rackwright.render import tuning
from rackwright.render.tuning import WANTED
from rackwright.spec.load import load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.plan.model import PoolPlan

NO_RDMA: Mapping[str, RdmaHost] = {}


def pool(**settings: object) -> PoolPlan:
    """A pool of the lab's nodes, with settings."""
    plan, _ = build(load(paths.repository() / "clusters" / "lab.yaml"), load_catalogue(), None)
    return plan.pools["node"].model_copy(update={"tuning": Settings.model_validate(settings)})


def test_what_is_not_set_has_no_file() -> None:
    made = tuning.files(pool(), NO_RDMA)
    assert list(made) == [WANTED]
    assert json.loads(made[WANTED])["settings"] == {}


def test_a_limit_is_for_logins_and_for_daemons() -> None:
    made = tuning.files(pool(limits={"memlock": "unlimited", "nofile": 1048576}), NO_RDMA)
    assert "* - memlock unlimited\n* - nofile 1048576\n" in made["limits.conf"]
    assert "DefaultLimitMEMLOCK=infinity\nDefaultLimitNOFILE=1048576\n" in made["system.conf"]


def test_a_limit_in_kib_is_the_same_for_logins_and_daemons() -> None:
    made = tuning.files(pool(limits={"memlock": 65536, "nproc": 4096}), NO_RDMA)
    assert "* - memlock 65536\n* - nproc 4096\n" in made["limits.conf"]
    assert "DefaultLimitMEMLOCK=65536K\nDefaultLimitNPROC=4096\n" in made["system.conf"]


def test_arp_rules_are_of_each_rail() -> None:
    text = tuning.files(pool(rdma_arp=True), NO_RDMA)["sysctl.conf"]
    assert [line for line in text.splitlines() if "r1" in line] == [
        "net.ipv4.conf.r1.arp_announce = 1",
        "net.ipv4.conf.r1.arp_ignore = 2",
        "net.ipv4.conf.r1.rp_filter = 2",
    ]


def test_arp_rules_of_interfaces_with_rdma_are_left_to_their_own_role() -> None:
    tuned = pool(rdma_arp=True)
    nic = RdmaNic(
        fabric="compute",
        rail=1,
        interface="r1",
        pci=None,
        address="10.0.1.16/24",
        network="10.0.1.0/24",
        mtu=9000,
        table=1001,
        kind="nic",
        priority=3,
        dscp=26,
        ecn=True,
    )
    hosts = {slot.name: RdmaHost(nics=(nic,)) for slot in tuned.slots.values()}
    made = tuning.files(tuned, hosts)
    assert "conf.r0.arp_ignore" in made["sysctl.conf"]
    assert ".r1." not in made["sysctl.conf"] + made[WANTED]
    assert "r1" in json.loads(made[WANTED])["rails"], "its queues and interrupts are still this role's"


def test_the_command_line_holds_all_that_is_decided_at_boot() -> None:
    made = tuning.files(
        pool(
            cmdline={"iommu": "pt", "nohz": True, "quiet": False},
            hugepages={"2M": 16},
            block_modules=["nouveau"],
        ),
        NO_RDMA,
    )
    words = "iommu=pt nohz hugepagesz=2M hugepages=16 module_blacklist=nouveau"
    assert f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {words}"' in made["grub.cfg"]
    assert json.loads(made[WANTED])["settings"]["words"] == words.split()


def test_options_and_blocked_modules_share_the_file_of_modprobe() -> None:
    text = tuning.files(
        pool(module_options={"nvme": {"io_timeout": 30}}, block_modules=["nouveau"]), NO_RDMA
    )["modprobe.conf"]
    assert "options nvme io_timeout=30\n" in text
    assert "blacklist nouveau\ninstall nouveau /bin/false\n" in text
