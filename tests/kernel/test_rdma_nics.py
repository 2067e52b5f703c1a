"""Soft RoCE on guests: links and routes as planned, RDMA and NVMe over them, back after a boot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kernel.guests import HEAD, NODE
from tests.kernel.machine import wait_for
from tests.kernel.nvmeof import DISK, Storage, own_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kernel.guests import Guests


@pytest.fixture
def storage(guests: Guests) -> Iterator[Storage]:
    with own_spec(guests):
        storage = Storage(guests)
        storage.write(transport="rdma")
        yield storage


def _links(guests: Guests, name: str) -> str:
    return guests.run(name, "rdma link show")


PATHS = ("state", "targets offer what is planned, and every path is live")
"""What a host's proof says once it has noticed that a path is gone."""


def test_rdma_over_soft_links_serves_nvme_is_back_after_a_boot_and_what_a_hand_changes_is_named(
    storage: Storage,
) -> None:
    guests = storage.guests
    storage.converge(HEAD, NODE)
    for name in (HEAD, NODE):
        for rail in range(2):
            assert f"link rxe_eth{rail + 1}/1 state ACTIVE" in _links(guests, name)
            assert f"from {guests.rail(name, rail)} lookup {1000 + rail}" in guests.run(name, "ip rule")
    assert storage.changed(HEAD, NODE) == {}

    here = guests.rail(HEAD, 0)
    guests.run(HEAD, f"systemd-run --quiet --unit=rping rping -s -a {here} -C 10")
    assert "client DISCONNECT EVENT" in guests.run(NODE, f"sleep 3; rping -c -a {here} -C 10 -v 2>&1")
    perf = "ib_write_bw -d rxe_eth1 -x 1 -s 65536 -n 200"
    guests.run(HEAD, f"systemd-run --quiet --unit=perf {perf}")
    wait_for(lambda: ":18515" in guests.run(HEAD, "ss -ltn"), lambda: "ib_write_bw does not listen")
    table = guests.run(NODE, f"{perf} {here}")
    row = next(line.split() for line in table.splitlines() if line.strip().startswith("65536"))
    assert float(row[3]) > 0, table

    guests.run(NODE, "dd if=/dev/urandom of=/root/r bs=1M count=8 status=none")
    guests.run(NODE, f"dd if=/root/r of={storage.device} bs=1M oflag=direct status=none")
    assert guests.run(NODE, "cat /sys/class/nvme/nvme*/transport").split() == ["rdma", "rdma"]
    sums = {
        guests.run(NODE, "sha256sum < /root/r"),
        guests.run(NODE, f"dd if={storage.device} bs=1M count=8 iflag=direct status=none | sha256sum"),
        guests.run(HEAD, f"dd if={DISK} bs=1M count=8 iflag=direct status=none | sha256sum"),
    }
    assert len(sums) == 1

    guests.reboot(NODE)
    wait_for(
        lambda: (
            guests.run(NODE, "cat /sys/class/nvme/nvme*/state 2>/dev/null || true").split() == ["live"] * 2
        ),
        lambda: guests.run(NODE, "journalctl --no-pager -b -u rackwright-rdma -u rackwright-nvmeof-host"),
    )

    guests.run(NODE, "rdma link delete rxe_eth2; sysctl -q net.ipv4.conf.eth1.arp_ignore=0")
    links = guests.run(NODE, "rdma link show")
    told = storage.drift(NODE, code=1)
    found = {(one["kind"], one["subject"]) for one in told}
    lost = {one for one in found if one[0] == "namespace" or one == PATHS}
    assert found - lost == {
        ("state", "eth2 RDMA link"),
        ("state", "eth2 mark"),
        ("sysctl", "net.ipv4.conf.eth1.arp_ignore"),
    }, f"all else is back: {told}"
    assert len(lost - {PATHS}) <= 1, "of two paths one needs that link"
    assert guests.run(NODE, "sysctl -n net.ipv4.conf.eth1.arp_ignore") == "0"
    assert guests.run(NODE, "rdma link show") == links
