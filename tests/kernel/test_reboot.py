"""A rolling reboot of real kernels without Slurm, which tests/unit/converge/test_reboots.py imitates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwright.catalogue.model import Reboot
from rackwright.converge.reboot_hosts import NOTES, Ssh, SshFleet, SshSlurm
from rackwright.converge.reboot_model import End
from rackwright.converge.reboots import Rolling
from tests.kernel.guests import HEAD, NODE

if TYPE_CHECKING:
    from tests.kernel.guests import Guests

WHY = "a test says so"


def wait_for_a_reboot(guests: Guests) -> dict[str, str]:
    """Both guests have a reason, as a role would write it; host → boot id."""
    guests.spec.write_text(guests.spec_without_slurm)
    guests.rackwright("plan", str(guests.spec))
    for name in (HEAD, NODE):
        guests.run(name, f"mkdir -p {NOTES}; echo '{WHY}' >{NOTES}/test")
    return {name: guests.boot_id(name) for name in (HEAD, NODE)}


def ends(document: dict[str, Any]) -> dict[str, str]:
    return {host: one["end"] for host, one in document["hosts"].items()}


def test_hosts_that_wait_are_listed_then_rebooted_each_with_a_new_boot_id(guests: Guests) -> None:
    before = wait_for_a_reboot(guests)
    assert ends(guests.json("reboot", str(guests.spec))) == {HEAD: "waiting", NODE: "waiting"}
    assert {name: guests.boot_id(name) for name in before} == before
    assert ends(guests.json("reboot", str(guests.spec), "--apply")) == {HEAD: "rebooted", NODE: "rebooted"}
    after = {name: guests.boot_id(name) for name in before}
    assert not set(after.values()) & set(before.values())
    assert ends(guests.json("reboot", str(guests.spec), "--apply")) == {}
    assert {name: guests.boot_id(name) for name in before} == after


def test_a_guest_that_does_not_come_back_is_named_and_the_other_is_untouched(guests: Guests) -> None:
    before = wait_for_a_reboot(guests)
    guests.run(HEAD, "mv /boot/grub/grub.cfg /boot/grub/grub.gone")
    ssh = Ssh(guests.ssh_config)
    patience = dict.fromkeys(before, Reboot(least_s=3, within_s=90))
    rolling = Rolling(SshFleet(ssh), SshSlurm(ssh, {}), patience, frozenset(), tell=lambda _: None)
    results = rolling.run(dict.fromkeys(before, (WHY,)))
    assert {host: one.end for host, one in results.items()} == {HEAD: End.FAILED, NODE: End.UNTOUCHED}
    assert results[HEAD].message == "it did not come back within 90 s"
    assert guests.boot_id(NODE) == before[NODE]
