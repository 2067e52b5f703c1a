"""What the hardware of a host is told, and what it notes on the console."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rackwright.inventory.console import parse
from rackwright.lab import supervisor
from rackwright.lab.supervisor import Machine
from tests.doubles.hall import host_key

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.lab.places import Places


def _machine(places: Places, tmp_path: Path, *, keep_modes: bool = False) -> Machine:
    return Machine(
        places=places,
        slot="node-001",
        seeds=(places.seeds / "_hall", places.seeds / "node-001"),
        keep_modes=keep_modes,
        image=tmp_path / "image",
        console=tmp_path / "node-001.log",
        memory_mib=1024,
    )


@pytest.mark.parametrize("keep_modes", [True, False])
def test_its_command_line_says_all_it_needs(places: Places, tmp_path: Path, *, keep_modes: bool) -> None:
    machine = _machine(places, tmp_path, keep_modes=keep_modes)
    assert Machine.parse(machine.arguments()) == machine


def test_a_host_dies_with_its_supervisor_and_has_a_clock_of_its_own(places: Places, tmp_path: Path) -> None:
    line = " ".join(supervisor.command_line(_machine(places, tmp_path)))
    assert line.startswith("setpriv --pdeathsig KILL unshare --pid --mount-proc --time --boottime -")
    assert " --kill-child systemd-nspawn " in line
    assert "node-001" not in re.sub(r"--(directory|network-namespace-path)=\S+", "", line)


def test_marks_do_not_hide_a_key_from_who_reads_the_console(places: Places, tmp_path: Path) -> None:
    console, key = tmp_path / "node-001.log", host_key("node-001")
    lines = ["-----BEGIN SSH HOST KEY KEYS-----", f"{key.type} {key.key} root@node-001"]
    supervisor.note(console, "power on")
    with console.open("ab") as file:
        file.write(("\r\n".join(lines) + "\r\n").encode())
    supervisor.note(console, "plug pulled")
    with console.open("ab") as file:
        file.write(b"-----END SSH HOST KEY KEYS-----\r\n")
    assert parse(console.read_bytes(), "node-001").keys == (key,)
    assert places.cluster == "lab"
