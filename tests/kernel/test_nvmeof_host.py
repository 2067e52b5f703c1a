"""Hosts of NVMe-oF storage on guests: no byte is lost, whichever end or path goes away for a while."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.kernel.guests import HEAD, NODE
from tests.kernel.machine import wait_for
from tests.kernel.nvmeof import DISK, Storage, own_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kernel.guests import Guests

FIO = (
    "--name=verified --rw=write --bs=64k --size=16m --rate=256k --direct=1 --ioengine=psync "
    "--verify=sha256 --verify_fatal=1 --output-format=json --output=/run/fio.json"
)
"""A minute of writes, then as long of reading them back."""


@pytest.fixture
def storage(guests: Guests) -> Iterator[Storage]:
    with own_spec(guests):
        yield Storage(guests)


def _states(storage: Storage) -> list[str]:
    """Of all paths that the host has."""
    return storage.guests.run(NODE, "cat /sys/class/nvme/nvme*/state 2>/dev/null || true").split()


def _await_states(storage: Storage, *states: str) -> None:
    wait_for(
        lambda: sorted(_states(storage)) == sorted(states),
        lambda: f"{_states(storage)}, not {states}\n{storage.guests.run(NODE, 'dmesg | tail -40')}",
    )


def _start_fio(storage: Storage) -> None:
    run = f"systemd-run --quiet --unit=verified --property=Type=exec fio --filename={storage.device} {FIO}"
    storage.guests.run(NODE, f"rm -f /run/fio.json; {run}")


def _fio_runs(storage: Storage) -> bool:
    return storage.guests.run(NODE, "systemctl is-active verified || true") == "active"


def _assert_fio_lost_nothing(storage: Storage) -> None:
    wait_for(lambda: not _fio_runs(storage), lambda: "fio does not end")
    said = storage.guests.run(NODE, "cat /run/fio.json")
    job = json.loads(said[said.index("{") :])["jobs"][0]
    assert job["error"] == 0, said
    assert job["write"]["io_bytes"] == job["read"]["io_bytes"] == 16 << 20


def _reboot(storage: Storage, name: str) -> None:
    boot = storage.guests.boot_id(name)
    storage.guests.run(name, "systemctl reboot --no-block")
    wait_for(lambda: not storage.guests.answers(name), lambda: f"{name} does not go down")
    storage.guests.await_login(name)
    assert storage.guests.boot_id(name) != boot


def test_two_paths_carry_one_namespace_and_a_cut_one_loses_nothing(storage: Storage) -> None:
    guests = storage.guests
    storage.write(dhchap=True)
    storage.converge(HEAD, NODE)
    _await_states(storage, "live", "live")
    assert guests.run(NODE, "cat /sys/class/nvme-subsystem/nvme-subsys*/iopolicy") == "round-robin"
    assert storage.changed(HEAD, NODE) == {}

    guests.run(NODE, "dd if=/dev/urandom of=/root/r bs=1M count=8 status=none")
    guests.run(NODE, f"dd if=/root/r of={storage.device} bs=1M oflag=direct status=none")
    here = guests.run(NODE, "sha256sum < /root/r")
    assert (
        guests.run(NODE, f"dd if={storage.device} bs=1M count=8 iflag=direct status=none | sha256sum") == here
    )
    assert guests.run(HEAD, f"dd if={DISK} bs=1M count=8 iflag=direct status=none | sha256sum") == here

    _start_fio(storage)
    guests.network.cut("tap1-1")
    wait_for(
        lambda: "live" in _states(storage) and len(set(_states(storage))) == 2, lambda: "no path is lost"
    )
    assert _fio_runs(storage)
    (lost,) = [one for one in storage.drift(NODE, code=1) if one["kind"] == "namespace"]
    assert lost["intended"] == "live"
    guests.network.mend("tap1-1")
    _await_states(storage, "live", "live")
    _assert_fio_lost_nothing(storage)


def test_a_target_that_boots_under_io_and_then_both_ends_lose_nothing(storage: Storage) -> None:
    guests = storage.guests
    storage.write(file_system="ext4", mount="/fast")
    storage.converge(HEAD, NODE)
    guests.run(NODE, "dd if=/dev/urandom of=/fast/r bs=1M count=8 conv=fsync status=none")
    before = guests.run(NODE, "sha256sum < /fast/r")
    run = f"systemd-run --quiet --unit=verified --property=Type=exec fio --filename=/fast/io {FIO}"
    guests.run(NODE, f"rm -f /run/fio.json; {run}")
    _reboot(storage, HEAD)
    assert _fio_runs(storage)
    _await_states(storage, "live", "live")
    _assert_fio_lost_nothing(storage)
    kind, options = guests.run(NODE, "findmnt --noheadings --output FSTYPE,OPTIONS /fast").split()
    assert (kind, options.split(",")[0]) == ("ext4", "rw")

    for name in (NODE, HEAD):
        guests.run(name, "systemctl reboot --no-block")
    for name in (NODE, HEAD):
        wait_for(lambda name=name: not guests.answers(name), lambda name=name: f"{name} does not go down")  # type: ignore[misc]  # (a default binds it)
    for name in (HEAD, NODE):
        guests.await_login(name)
    wait_for(
        lambda: guests.run(NODE, "systemctl is-active fast.mount || true") == "active",
        lambda: guests.run(NODE, "journalctl --no-pager -b -u rackwright-nvmeof-host -u fast.mount"),
    )
    _await_states(storage, "live", "live")
    assert guests.run(NODE, "sha256sum < /fast/r") == before
    assert storage.changed(HEAD, NODE) == {}


def test_what_is_planned_no_more_is_unmounted_and_disconnected(storage: Storage) -> None:
    guests = storage.guests
    storage.write(file_system="ext4", mount="/fast")
    storage.converge(HEAD, NODE)
    storage.write()
    storage.converge(HEAD, NODE)
    assert guests.run(NODE, "findmnt /fast || echo none") == "none"
    assert guests.run(NODE, "ls /etc/systemd/system/fast.mount 2>/dev/null || echo none") == "none"
    _await_states(storage, "live", "live")
