"""The guests themselves: hosts of an inventory, with kernels of their own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.kernel.guests import HEAD, NODE

if TYPE_CHECKING:
    from tests.kernel.guests import Guests


def test_a_guest_is_a_host_of_the_inventory_with_a_kernel_of_its_own(guests: Guests) -> None:
    for name in (HEAD, NODE):
        assert guests.run(name, "uname -r") != os.uname().release
        assert guests.run(name, "hostname") == name
        assert guests.user(name, "id --user --name") == "rackwright"
    assert guests.run(NODE, "stat --file-system --format=%T /sys/fs/cgroup") == "cgroup2fs"
    for rail in range(2):
        guests.run(HEAD, f"ping -c 1 -w 60 -I eth{rail + 1} {guests.rail(NODE, rail)}")


def test_a_reboot_has_a_new_boot_id_and_a_restore_takes_it_back(guests: Guests) -> None:
    before = guests.boot_id(NODE)
    guests.run(NODE, "touch /root/left")
    guests.reboot(NODE)
    assert guests.boot_id(NODE) != before
    guests.restore()
    assert guests.boot_id(NODE) == before
    assert guests.run(NODE, "ls /root") == ""
