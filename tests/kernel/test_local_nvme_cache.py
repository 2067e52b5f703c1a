"""Scratch over a guest's spare disks: one striped volume, there after a boot, moved, and never over data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from ruamel.yaml import YAML

from tests.kernel.guests import NODE
from tests.kernel.nvmeof import PLAYBOOK, own_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kernel.guests import Guests

DISKS = ("/dev/vdc", "/dev/vdd")


NOTE = "/var/lib/rackwright/local-nvme.json"


@pytest.fixture
def spec(guests: Guests) -> Iterator[Guests]:
    with own_spec(guests):
        _write(guests)
        yield guests


def _write(guests: Guests, mount: str = "/scratch") -> None:
    yaml = YAML(typ="safe")
    values = yaml.load(guests.spec)
    scratch = {"kind": "local-nvme", "pools": ["node"], "mount": mount, "devices": list(DISKS)}
    values["storage"] = {"scratch": {**scratch, "file_system": "ext4", "wipe_after_job": True}}
    with guests.spec.open("w", encoding="utf-8") as file:
        yaml.dump(values, file)
    guests.rackwright("plan", str(guests.spec))


def _converge(guests: Guests, code: int = 0) -> str:
    words = ("converge", str(guests.spec), "--limit", NODE, "--playbook", PLAYBOOK)
    return guests.rackwright(*words, code=code).stdout


def test_scratch_is_striped_mounted_wiped_at_a_jobs_end_back_after_a_boot_moved_and_given_back(
    spec: Guests,
) -> None:
    guests = spec
    begun = json.dumps({"devices": list(DISKS), "made": False, "mounts": []})
    guests.run(NODE, f"mkdir -p /var/lib/rackwright && echo '{begun}' > {NOTE} && pvcreate {' '.join(DISKS)}")
    _converge(guests)
    shape = guests.run(NODE, "lvs --noheadings --options stripes rackwright_scratch/scratch").strip()
    assert shape == "2", "a run that was cut off before there was a volume is gone on with"
    guests.user(NODE, "echo mine > /scratch/file")
    assert "changed=0" in _converge(guests)
    guests.reboot(NODE)
    assert guests.run(NODE, "findmnt --noheadings --output FSTYPE /scratch") == "ext4"
    assert guests.user(NODE, "cat /scratch/file") == "mine"
    guests.run(NODE, "/etc/slurm/epilog.d/50-local-nvme.sh")
    assert guests.user(NODE, "cat /scratch/file") == "mine", "Slurm does not say that no job is here"

    _write(guests, "/other")
    _converge(guests)
    assert guests.run(NODE, "findmnt /scratch || echo none") == "none"
    assert guests.user(NODE, "cat /other/file") == "mine"

    squeue = "/root/fake/squeue"  # (nothing is run in /run: initramfs-tools mounts it noexec)
    guests.run(NODE, f"mkdir /root/fake && printf '#!/bin/sh\\necho 7\\n' > {squeue} && chmod +x {squeue}")
    guests.run(NODE, "SLURM_JOB_ID=7 PATH=/root/fake:$PATH /etc/slurm/epilog.d/50-local-nvme.sh")
    assert guests.run(NODE, "ls /other") == "lost+found"

    guests.spec.write_text(guests.pristine_spec)
    guests.rackwright("plan", str(guests.spec))
    _converge(guests)
    assert guests.run(NODE, "findmnt /other || echo none") == "none"
    left = "ls /etc/slurm/epilog.d /etc/systemd/system /etc/rackwright /var/lib/rackwright"
    assert guests.run(NODE, f"{left} 2>/dev/null | grep -E 'local-nvme|other' || true") == ""
    assert guests.run(NODE, "vgs --noheadings --options vg_name").strip() == "rackwright_scratch"


def test_a_disk_with_data_is_refused_and_left_as_it_is(spec: Guests) -> None:
    guests = spec
    guests.run(NODE, f"mkfs.ext4 -q {DISKS[1]}")
    before = guests.run(NODE, f"sha256sum {' '.join(DISKS)}")
    said = _converge(guests, code=1)
    assert f"{DISKS[1]}: ext4; nothing was changed" in said
    assert guests.run(NODE, f"sha256sum {' '.join(DISKS)}") == before
