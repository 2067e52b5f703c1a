"""What cannot work is said before anything is made: place, got, expected, hint, exit code 2."""

from __future__ import annotations

import contextlib
import http.client
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import parts, processes
from rackwright.lab.commands import run
from rackwright.lab.netns import Namespace
from tests.hosts.lab import WITHIN_S, standing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab


def _refused(lab: Lab, code: str, *words: str) -> str:
    """The words of an error, which must have that code and leave nothing behind."""
    document = lab.json(*words or ("lab", "up", str(lab.spec)), code=2)
    assert document["schema"] == "rackwright/error/1"
    assert code in str(document)
    return str(document)


def test_who_is_not_root_makes_nothing(small_lab: Lab) -> None:
    for command in ("up", "doctor"):
        done = subprocess.run(
            ["unshare", "--user", *small_lab.command("lab", command, str(small_lab.spec))],
            env=small_lab.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "LAB101" in done.stdout + done.stderr
        assert "run the same command as root" in done.stdout + done.stderr
    assert not small_lab.state_home.exists()
    assert parts.find(small_lab.places) == []


def test_another_world_under_the_same_name_is_refused(small_lab: Lab) -> None:
    small_lab.up()
    before = standing(small_lab.places)
    small_lab.spec.write_text(small_lab.spec.read_text().replace("speed: 100m", "speed: 200m"))
    text = _refused(small_lab, "LAB014")
    assert "another hosts" in text
    assert f"rackwright lab down {small_lab.name}" in text
    assert standing(small_lab.places) == before


@contextlib.contextmanager
def _small_disk(lab: Lab) -> Iterator[None]:
    lab.state_home.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=1G", "tmpfs", lab.state_home)
    try:
        yield
    finally:
        run("umount", lab.state_home)


def test_disks_that_do_not_fit_are_refused_before_any_is_made(small_lab: Lab) -> None:
    with _small_disk(small_lab):
        text = _refused(small_lab, "LAB003")
        assert "1.0 GiB free" in text
        assert "4.5 GiB" in text
        assert list(small_lab.state_home.iterdir()) == []


def test_a_link_of_that_name_that_is_not_ours_is_refused(small_lab: Lab) -> None:
    run("ip", "link", "add", small_lab.places.leg, "type", "bridge")
    try:
        _refused(small_lab, "LAB110")
        assert parts.find(small_lab.places) == []
    finally:
        run("ip", "link", "del", small_lab.places.leg)


def test_a_route_of_the_machine_in_the_way_is_named(small_lab: Lab) -> None:
    bmcs, taken = f"{small_lab.prefix}.1.0/24", f"{small_lab.prefix}.1.128/25"
    run("ip", "route", "add", "blackhole", taken)
    try:
        assert f"hall bmc {bmcs} overlaps with {taken}" in _refused(small_lab, "LAB108")
        assert parts.find(small_lab.places) == []
    finally:
        run("ip", "route", "del", "blackhole", taken)


def test_a_busy_port_is_named_and_the_other_bmcs_stay(small_lab: Lab) -> None:
    small_lab.up()
    bmc = processes.read_pid_file(small_lab.places.bmc_pid("node-001"))
    assert bmc is not None
    bmc.kill()
    assert processes.wait_gone([bmc], WITHIN_S) == []
    within = f"--net={Namespace(small_lab.places.netns('router')).path}"
    address = f"{small_lab.prefix}.1.17"
    with _squatter(f"s = socket.create_server(({address!r}, 443))", "nsenter", within) as squatter:
        text = _refused(small_lab, "LAB112")
        assert f"{address}:443" in text
        assert f"pid={squatter.pid}" in text
        assert small_lab.redfish("head-001").status == http.client.OK
    assert small_lab.up()["made"] == [f"BMC {address} (node-001)"]


def test_a_socket_of_somebody_else_is_named(small_lab: Lab) -> None:
    small_lab.places.run.mkdir(parents=True)
    path = str(small_lab.places.socket)
    with _squatter(f"s = socket.socket(socket.AF_UNIX); s.bind({path!r}); s.listen()"):
        assert path in _refused(small_lab, "LAB111")


@contextlib.contextmanager
def _squatter(listen: str, *within: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that listens where the lab should."""
    program = f"import socket, time; {listen}; print(1, flush=True); time.sleep(600)"
    with subprocess.Popen([*within, sys.executable, "-c", program], stdout=subprocess.PIPE) as squatter:
        try:
            assert squatter.stdout is not None
            squatter.stdout.readline()
            yield squatter
        finally:
            squatter.kill()


def test_a_ca_that_is_not_the_labs_is_not_overwritten(small_lab: Lab) -> None:
    pem = small_lab.places.state / "bmc-ca.pem"
    pem.parent.mkdir(parents=True)
    pem.write_text("somebody else's")
    _refused(small_lab, "LAB013")
    assert pem.read_text() == "somebody else's"


def test_what_no_lab_can_be_is_refused(small_lab: Lab) -> None:
    small_lab.spec.write_text(small_lab.spec.read_text().replace("platform: lab-node", "platform: cpu-1u", 1))
    text = small_lab.rackwright("lab", "up", str(small_lab.spec), code=2).stderr
    assert "cpu-1u" in text
    assert not small_lab.state_home.exists()


def test_a_spec_that_cannot_be_read_makes_nothing(small_lab: Lab, tmp_path: Path) -> None:
    for spec in (tmp_path, tmp_path / "absent.yaml"):
        _refused(small_lab, "SPEC", "lab", "up", str(spec))
    assert not small_lab.state_home.exists()


def test_two_commands_at_one_lab_at_once_are_one_too_many(small_lab: Lab) -> None:
    small_lab.places.lab.mkdir(parents=True)
    with processes.exclusive(small_lab.places.lab):
        _refused(small_lab, "LAB010")
        _refused(small_lab, "LAB010", "lab", "down", small_lab.name)
    assert not small_lab.places.world.exists()
