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

MIB = 4
"""Of a round: a quarter of a minute of writes, which are then read back at once."""
ROUNDS = f"""\
number=0
until [ -e /run/enough ]; do
    number=$((number + 1))
    fio --name=verified --filename="$1" --randseed=$number --rw=write --bs=64k --size={MIB}m --rate=,256k \
        --direct=1 --ioengine=psync --verify=sha256 --verify_fatal=1 \
        --output-format=json --output=/run/fio.$number.json || exit
done
"""
"""Each writes other data: what an earlier one has left is no proof of the next."""


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


def _start_fio(storage: Storage, file: str) -> None:
    """Rounds of writing and verifying, until they are told that it is enough."""
    storage.guests.run(NODE, f"cat > /run/rounds <<'END'\n{ROUNDS}END")
    run = f"systemd-run --quiet --unit=verified --property=Type=exec sh /run/rounds {file}"
    storage.guests.run(NODE, f"rm -f /run/enough /run/fio.*; {run}")


def _fio(storage: Storage) -> str:
    """State of its unit: active, failed, or inactive where it has ended well."""
    return storage.guests.run(NODE, "systemctl is-active verified || true")


def _assert_fio_lost_nothing(storage: Storage) -> None:
    """It ran until now, and every byte of every round was read back as written."""
    assert _fio(storage) == "active"
    storage.guests.run(NODE, "touch /run/enough")
    wait_for(lambda: _fio(storage) != "active", lambda: "fio does not end")
    assert _fio(storage) == "inactive", storage.guests.run(NODE, "journalctl --no-pager -u verified")
    rounds = storage.guests.run(NODE, "ls /run/fio.*.json").split()
    assert rounds
    for file in rounds:
        said = storage.guests.run(NODE, f"cat {file}")
        job = json.loads(said[said.index("{") :])["jobs"][0]
        assert job["error"] == 0, said
        assert job["write"]["io_bytes"] == job["read"]["io_bytes"] == MIB << 20


def test_two_paths_carry_one_namespace_and_a_cut_one_loses_nothing(storage: Storage) -> None:
    guests = storage.guests
    storage.write(dhchap=True, ana_group=2, non_optimized=(2,))
    storage.converge(HEAD, NODE)
    _await_states(storage, "live", "live")
    assert guests.run(NODE, "cat /sys/class/nvme/nvme*/nvme*/ana_state").split() == ["non-optimized"] * 2
    assert guests.run(NODE, "cat /sys/class/nvme-subsystem/nvme-subsys*/iopolicy") == "round-robin"

    guests.run(NODE, "dd if=/dev/urandom of=/root/r bs=1M count=8 status=none")
    guests.run(NODE, f"dd if=/root/r of={storage.device} bs=1M oflag=direct status=none")
    here = guests.run(NODE, "sha256sum < /root/r")
    assert (
        guests.run(NODE, f"dd if={storage.device} bs=1M count=8 iflag=direct status=none | sha256sum") == here
    )
    assert guests.run(HEAD, f"dd if={DISK} bs=1M count=8 iflag=direct status=none | sha256sum") == here

    _start_fio(storage, storage.device)
    guests.network.cut("tap1-1")
    wait_for(
        lambda: "live" in _states(storage) and len(set(_states(storage))) == 2, lambda: "no path is lost"
    )
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
    _start_fio(storage, "/fast/io")
    guests.reboot(HEAD)
    _await_states(storage, "live", "live")
    _assert_fio_lost_nothing(storage)
    kind, options = guests.run(NODE, "findmnt --noheadings --output FSTYPE,OPTIONS /fast").split()
    assert (kind, options.split(",")[0]) == ("ext4", "rw")

    guests.reboot(NODE, HEAD)
    wait_for(
        lambda: guests.run(NODE, "systemctl is-active fast.mount || true") == "active",
        lambda: guests.run(NODE, "journalctl --no-pager -b -u rackwright-nvmeof-host -u fast.mount"),
    )
    _await_states(storage, "live", "live")
    assert guests.run(NODE, "sha256sum < /fast/r") == before
    assert storage.changed(HEAD, NODE) == {}


def test_what_is_planned_no_more_is_let_go_of_before_its_target_stops_serving_it(storage: Storage) -> None:
    guests = storage.guests
    storage.write(file_system="ext4", mount="/fast")
    storage.converge(HEAD, NODE)
    guests.run(NODE, "sh -c 'echo dirty > /fast/last'")
    storage.write(served=False)
    assert f"{guests.rail(NODE, 0)} still connected" in storage.converge(HEAD, code=1)
    guests.run(NODE, "systemd-run --quiet --unit=user --working-directory=/fast sleep infinity")
    assert "/fast: in use by" in storage.converge(NODE, code=1)
    guests.run(NODE, "systemctl stop user")
    storage.take_away()
    storage.converge(HEAD, NODE)
    left = "ls /etc/systemd/system /etc/udev/rules.d /var/lib/rackwright | grep -E 'nvme(t|of)' || true"
    assert [guests.run(name, left) for name in (HEAD, NODE)] == ["", ""]
    assert guests.run(NODE, "findmnt /fast || echo none") == "none"
    assert guests.run(NODE, "ls /etc/systemd/system/fast.mount 2>/dev/null || echo none") == "none"
    assert guests.run(NODE, "ls /sys/class/nvme") == ""
    assert guests.run(HEAD, "cd /sys/kernel/config/nvmet && ls -A subsystems ports hosts").split() == [
        "hosts:",
        "ports:",
        "subsystems:",
    ]
    assert guests.run(HEAD, f"mount -o ro {DISK} /mnt && cat /mnt/last") == "dirty"
