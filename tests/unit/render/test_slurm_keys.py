"""Keys of Slurm's files, against those that a release's own parser takes."""

from __future__ import annotations

import pytest

from rackwright.catalogue.load import load
from rackwright.catalogue.slurm import Slurm, SlurmTable
from rackwright.errors import BAD, RenderedInvalid
from rackwright.render.slurm_keys import FILES, keys, refuse_strange_keys


@pytest.fixture(scope="module")
def release() -> Slurm:
    return load().slurm["24.11"]


@pytest.mark.parametrize(
    ("name", "text", "got", "hint"),
    [
        ("slurm.conf", "\nKillWat=5", "unknown key KillWat", "did you mean `KillWait`?"),
        ("slurm.conf", "\nFastSchedule=1", "retired key FastSchedule", "SlurmdParameters=config_overrides"),
        ("slurm.conf", "\nCoreSpecPlugin=x", "retired key CoreSpecPlugin", "nothing replaces it"),
        ("slurm.conf", "\nNodeName=n1 CPUs=2 Memory=4", "unknown key Memory", ""),
        ("slurm.conf", "\nNodeName=n1 Procs=2", "retired key Procs", "write CPUs"),
        ("slurm.conf", "\nPartitionName=p Shared=NO", "retired key Shared", "write OverSubscribe"),
        ("slurm.conf", "\nPartitionName=p CPUs=2", "unknown key CPUs", ""),
        ("slurm.conf", "#KillWat=5\nKillWait", "KillWait without a value", "write KillWait="),
        ("cgroup.conf", "\nCgroupAutomount=yes", "retired key CgroupAutomount", ""),
        ("topology.conf", "\nSwitchName=s Nods=n1", "unknown key Nods", "did you mean `Nodes`?"),
        ("gres.conf", "\nName=gpu Fil=/dev/x", "unknown key Fil", "did you mean `File`?"),
        ("slurmdbd.conf", "\nStoragePas=x", "unknown key StoragePas", "did you mean `StoragePass`?"),
    ],
)
def test_a_key_that_the_release_does_not_take(
    name: str, text: str, got: str, hint: str, release: Slurm
) -> None:
    with pytest.raises(RenderedInvalid) as refused:
        refuse_strange_keys(name, text, release)
    error = refused.value
    assert (error.code, error.exit_code, error.where, error.got) == ("REND001", BAD, f"{name}:2", got)
    assert hint in error.hint


@pytest.mark.parametrize(
    "text",
    [
        "KILLWAIT=5 # NotAKey=1",
        'RebootProgram="/usr/bin/systemctl reboot --now x=1"',
        "nodename=n[1-2] cpus=2 State=UNKNOWN",
        "SlurmctldHost = a",
    ],
)
def test_what_slurm_reads_is_read(text: str, release: Slurm) -> None:
    refuse_strange_keys("slurm.conf", text, release)


def test_a_line_that_goes_on_is_one_line() -> None:
    found = list(keys("slurm.conf", "KillWait=5\nNodeName=n1 \\\n  CPUs=2\nKillWait=6\n"))
    assert [(key.line, key.name, key.table) for key in found] == [
        (1, "KillWait", SlurmTable.CONF),
        (2, "NodeName", SlurmTable.NODE),
        (2, "CPUs", SlurmTable.NODE),
        (4, "KillWait", SlurmTable.CONF),
    ]


def test_every_file_with_keys_has_its_tables(release: Slurm) -> None:
    assert len(FILES) == 5
    assert set(release.keys) == set(SlurmTable)


def test_no_key_is_known_and_retired_at_once(release: Slurm) -> None:
    for table in release.keys.values():
        known = {key.lower() for key in table.known}
        assert len(known) == len(table.known)
        assert not known & {key.lower() for key in table.retired}
