"""The kernel's NVMe target on a guest: as planned, and refused where data is at stake.

That it is back after a boot is shown under I/O: test_nvmeof_host.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.kernel.guests import HEAD, NODE
from tests.kernel.nvmeof import DISK, Storage, own_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kernel.guests import Guests


@pytest.fixture
def storage(guests: Guests) -> Iterator[Storage]:
    with own_spec(guests):
        yield Storage(guests)


def test_a_target_is_served_and_drift_names_what_a_hand_adds(storage: Storage) -> None:
    guests = storage.guests
    guests.run(HEAD, f"mkfs.ext4 -q {DISK}")
    holds = guests.run(HEAD, f"sha256sum {DISK}")
    storage.write(holds_data=True)
    storage.converge(HEAD)
    assert guests.run(HEAD, f"sha256sum {DISK}") == holds, "what is named is served as it is"
    nqn = storage.nqn
    configfs = "/sys/kernel/config/nvmet"
    assert guests.run(HEAD, f"cat {configfs}/subsystems/{nqn}/attr_allow_any_host") == "0"
    assert guests.run(HEAD, f"ls {configfs}/subsystems/{nqn}/allowed_hosts") == storage.host_nqn
    assert guests.run(HEAD, f"cat {configfs}/ports/*/addr_traddr | sort").split() == sorted(storage.addresses)

    guests.run(HEAD, f"mkdir {configfs}/subsystems/{nqn}/namespaces/7")
    guests.run(HEAD, f"printf /dev/vdd > {configfs}/subsystems/{nqn}/namespaces/7/device_path")
    before = guests.run(HEAD, f"find {configfs} | sort")
    found = storage.drift(HEAD, code=1)
    assert [(one["kind"], one["subject"]) for one in found] == [("namespace", f"{nqn} 7 (/dev/vdd)")]
    assert guests.run(HEAD, f"find {configfs} | sort") == before, "drift changes nothing"
    storage.converge(HEAD)
    assert guests.run(HEAD, f"ls {configfs}/subsystems/{nqn}/namespaces") == "1"
    assert storage.changed(HEAD) == {}


def test_a_device_with_a_signature_or_that_is_not_there_is_refused_before_any_change(
    storage: Storage,
) -> None:
    guests = storage.guests
    guests.run(HEAD, f"mkfs.ext4 -q {DISK}")
    holds = guests.run(HEAD, f"sha256sum {DISK}")
    storage.write()
    report = storage.converge(HEAD, code=1)
    assert "holds ext4" in report
    assert DISK in report
    assert guests.run(HEAD, "ls /sys/kernel/config/nvmet/subsystems 2>/dev/null || true") == ""

    storage.write(device="/dev/disk/by-id/no-such-drive")
    report = storage.converge(HEAD, code=1)
    assert "/dev/disk/by-id/no-such-drive: No such file or directory; nothing was changed" in report
    assert HEAD in report
    assert guests.run(HEAD, "ls /sys/kernel/config/nvmet/subsystems 2>/dev/null || true") == ""
    assert guests.run(HEAD, f"sha256sum {DISK}") == holds


def test_a_host_that_is_not_invited_and_one_with_a_wrong_key_are_refused(storage: Storage) -> None:
    guests = storage.guests
    storage.write(dhchap=True)
    storage.converge(HEAD)
    guests.run(NODE, "modprobe nvme-tcp")
    own = f"--hostnqn={storage.host_nqn} --hostid={storage.host_nqn.rpartition(':')[2]}"
    connect = f"nvme connect -t tcp -a {storage.addresses[0]} -s 4420 -n {storage.nqn}"
    stranger = "--hostnqn=nqn.2014-08.org.nvmexpress:uuid:99999999-2222-4333-8444-555555555555"
    id_ = "--hostid=99999999-2222-4333-8444-555555555555"
    refused = guests.run(NODE, f"{connect} {stranger} {id_} 2>&1 || echo refused")
    assert refused.endswith("refused"), refused
    for key in ("", f"--dhchap-secret='{storage.other_key}'"):
        refused = guests.run(NODE, f"{connect} {own} {key} 2>&1 || echo refused")
        assert refused.endswith("refused"), refused
    assert guests.run(NODE, "ls /sys/class/nvme") == ""
    said = guests.run(NODE, f"{connect} {own} --dhchap-secret='{storage.key}' 2>&1")
    assert "connecting to device: nvme" in said
