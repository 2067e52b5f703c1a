"""A lab that was taken down has never been here; and what would be left of one is seen."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import cgroups, parts, processes, snapshot
from rackwright.lab.commands import run
from rackwright.lab.netns import Namespace
from rackwright.lab.places import NETNS
from rackwright.lab.processes import Process
from rackwright.lab.protocol import Request, Verb, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab


def test_nothing_remains_of_a_lab_that_was_used(small_lab: Lab) -> None:
    before = snapshot.take()
    small_lab.up()
    small_lab.rackwright("plan", str(small_lab.spec))
    small_lab.prepare()
    small_lab.boot("node-001", "head-001")
    small_lab.ssh("node-001", "echo x | sudo tee /var/x")
    small_lab.reset("head-001", "ForceOff")
    assert {one.kind for one in snapshot.compare(before, snapshot.take())} >= {
        "process", "namespace", "link", "route", "loop device", "file",
    }  # fmt: skip
    assert _left_by(small_lab, before, "process") != []
    small_lab.down()
    assert _left_by(small_lab, before) == []
    assert not small_lab.places.state.exists()


def _left_by(lab: Lab, before: snapshot.Snapshot, *kinds: str) -> list[str]:
    """Differences, but for what other labs and other programs of this machine do meanwhile."""
    left = [one for one in snapshot.compare(before, snapshot.take()) if not kinds or one.kind in kinds]
    return [str(one) for one in left if not _is_somebody_elses(lab, one, before)]


def _is_somebody_elses(lab: Lab, one: snapshot.Difference, before: snapshot.Snapshot) -> bool:
    if one.kind == "process":
        return not _is_of(lab, int(one.name.partition(".")[0]))
    runs = Path("/run/rackwright")
    there = {path.name for path in runs.glob("*/")} | {
        Path(name).name for name in before["file"] if Path(name).parent == runs
    }
    marks = (mark for name in there - {lab.name} for mark in (f"rw-{name}", f"/{name}"))
    return any(re.search(rf"{re.escape(mark)}(?![a-z0-9-])", str(one)) for mark in marks)


def _is_of(lab: Lab, pid: int) -> bool:
    """Whether a process has the lab's environment, or process ids of its own."""
    try:
        environment = (processes.PROC / str(pid) / "environ").read_bytes()
        ids = (processes.PROC / str(pid) / "ns/pid").readlink()
    except OSError:
        return False
    return (
        f"XDG_STATE_HOME={lab.state_home}".encode() in environment
        or ids != Path("/proc/self/ns/pid").readlink()
    )


def test_down_says_what_it_keeps_and_a_second_one_finds_nothing(small_lab: Lab, tmp_path: Path) -> None:
    small_lab.up()
    small_lab.rackwright("plan", str(small_lab.spec))
    evidence = tmp_path / "runs" / small_lab.name
    evidence.mkdir(parents=True)
    done = subprocess.run(
        small_lab.command("lab", "down", str(small_lab.spec)),
        env=small_lab.environment, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lock = small_lab.spec.with_name(f"{small_lab.name}.lock.yaml")
    assert f"kept {evidence}" in done.stdout
    assert f"kept {lock}" in done.stdout
    assert evidence.is_dir()
    assert "nothing to do" in small_lab.rackwright("lab", "down", small_lab.name).stdout


def test_a_lab_whose_spec_is_broken_by_now_goes_all_the_same(small_lab: Lab) -> None:
    small_lab.up()
    small_lab.spec.write_text("cluster: [\n")
    small_lab.rackwright("lab", "down", str(small_lab.spec))
    assert parts.find(small_lab.places) == []


def test_a_lab_goes_without_the_python_environment(small_lab: Lab) -> None:
    small_lab.up()
    bare = [sys.executable, "-S", "-E", "-m", "rackwright.lab.teardown", small_lab.name]
    repository = Path(__file__).parents[2]
    subprocess.run(bare, env=small_lab.environment, cwd=repository, check=True, capture_output=True)
    assert parts.find(small_lab.places) == []
    assert not small_lab.places.state.exists()


def test_what_the_spec_wants_elsewhere_goes_too_and_what_was_there_stays(small_lab: Lab) -> None:
    folder = small_lab.spec.parent
    spec = small_lab.spec.read_text().replace('"state:console"', f"{folder}/logs/consoles")
    spec = spec.replace("state:secrets/bmc.csv", "file:keys/bmc.csv").replace(
        "state:bmc-ca.pem", "file:keys/ca.pem"
    )
    small_lab.spec.write_text(spec)
    (folder / "logs").mkdir()
    (folder / "logs" / "other").touch()
    small_lab.up()
    ask(small_lab.places.socket, Request(Verb.ON, "node-001"))
    small_lab.wait("node-001", "on")  # its console is opened after the answer
    assert (folder / "keys/bmc.csv").stat().st_mode & 0o777 == 0o600
    assert (folder / "keys/ca.pem").exists()
    assert "power on" in (folder / "logs/consoles/node-001.log").read_text()
    small_lab.down()
    assert sorted(path.name for path in folder.rglob("*")) == sorted(
        [small_lab.spec.name, "assets", "lab.csv", "logs", "other"]
    )


def test_a_stranger_in_a_namespace_of_the_lab_is_named_and_not_killed(small_lab: Lab) -> None:
    small_lab.up()
    within = Namespace(small_lab.places.netns("router")).path
    with subprocess.Popen(["nsenter", f"--net={within}", "sleep", "600"]) as stranger:
        try:
            strangers = small_lab.down()["strangers"]
            assert strangers == [f"process {stranger.pid} sleep"]
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_the_state_of_a_real_cluster_of_that_name_is_never_touched(small_lab: Lab) -> None:
    kept = small_lab.places.state / "pulumi" / "stack.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    small_lab.places.run.mkdir(parents=True)
    small_lab.down()
    assert kept.exists()
    assert not small_lab.places.run.exists()


@contextlib.contextmanager
def _process(name: str) -> Iterator[None]:
    """Detached, as what a daemon forgot: its parent is gone."""
    shell = f"exec -a {name} sleep 600 </dev/null >/dev/null 2>&1 & echo $!"
    pid = subprocess.run(["bash", "-c", shell], capture_output=True, check=True, text=True).stdout.strip()
    planted = Process.of(int(pid))
    yield
    run("kill", "-KILL", pid)
    assert planted is not None
    assert processes.wait_gone([planted], 60) == []


@contextlib.contextmanager
def _mount(name: str) -> Iterator[None]:
    folder = Path("/tmp") / name  # noqa: S108 (a fresh name)
    folder.mkdir()
    run("mount", "-t", "tmpfs", "tmpfs", folder)
    yield
    run("umount", folder)
    folder.rmdir()


@contextlib.contextmanager
def _namespace(name: str) -> Iterator[None]:
    made = not NETNS.exists()
    Namespace(name).make()
    yield
    run("ip", "netns", "del", name)
    if made:
        run("umount", NETNS)
        NETNS.rmdir()


@contextlib.contextmanager
def _link(name: str) -> Iterator[None]:
    run("ip", "link", "add", name, "type", "veth", "peer", "name", f"{name}p")
    yield
    run("ip", "link", "del", name)


@contextlib.contextmanager
def _route(name: str) -> Iterator[None]:
    del name
    run("ip", "route", "add", "blackhole", "192.0.2.128/32")
    yield
    run("ip", "route", "del", "blackhole", "192.0.2.128/32")


@contextlib.contextmanager
def _table(name: str) -> Iterator[None]:
    run("nft", "add", "table", "inet", name)
    yield
    run("nft", "delete", "table", "inet", name)


@contextlib.contextmanager
def _loop(name: str) -> Iterator[None]:
    file = Path("/tmp") / name  # noqa: S108 (a fresh name)
    file.write_bytes(bytes(4096))
    device = run("losetup", "--find", "--show", file).strip()
    yield
    run("losetup", "--detach", device)
    file.unlink()


@contextlib.contextmanager
def _setting(name: str) -> Iterator[None]:
    del name
    path = Path("/proc/sys/net/ipv4/tcp_fin_timeout")
    before = path.read_text()
    path.write_text(str(int(before) + 1))
    yield
    path.write_text(before)


@contextlib.contextmanager
def _control_group(name: str) -> Iterator[None]:
    cgroups.make(name, memory_mib=64)
    yield
    cgroups.remove(name)


def _file(folder: str) -> Callable[[str], contextlib.AbstractContextManager[None]]:
    @contextlib.contextmanager
    def planted(name: str) -> Iterator[None]:
        path = Path(folder) / name
        path.write_text("planted")
        yield
        path.unlink()

    return planted


PLANTS = {
    "process": _process,
    "mount": _mount,
    "namespace": _namespace,
    "link": _link,
    "route": _route,
    "packet filter": _table,
    "loop device": _loop,
    "setting": _setting,
    "control group": _control_group,
    "file in /etc": _file("/etc"),
    "file in /run": _file("/run"),
    "file in /var/lib": _file("/var/lib"),
}


@pytest.mark.parametrize("kind", PLANTS)
def test_a_planted_left_over_is_reported(lab: Lab, kind: str) -> None:
    del lab  # it says whether this machine can do such things
    name = f"rw{uuid.uuid4().hex[:8]}"
    before = snapshot.take()
    with PLANTS[kind](name):
        found = snapshot.compare(before, snapshot.take())
        assert kind.partition(" in ")[0] in {
            one.kind for one in found if one.before is None or kind == "setting"
        }
        assert any(name in str(one) or kind in ("route", "setting") for one in found)
    assert [one for one in snapshot.compare(before, snapshot.take()) if name in str(one)] == []


def _lab_process(lab: Lab) -> None:
    log = lab.state_home / "log"
    options = [*lab.places.arguments(), "rackwright.lab.bmc"]
    processes.spawn(["bash", "-c", "sleep 600; true", *reversed(options)], log)


def _lab_mount(lab: Lab) -> None:
    folder = lab.places.state / "planted"
    folder.mkdir(parents=True)
    run("mount", "-t", "tmpfs", "tmpfs", folder)


def _lab_loop(lab: Lab) -> None:
    disk = lab.places.disk("node-001")
    disk.parent.mkdir(parents=True)
    disk.write_bytes(bytes(4096))
    run("losetup", "--find", disk)


def _lab_link(lab: Lab) -> None:
    run("ip", "link", "add", lab.places.leg, "type", "bridge")
    run("ip", "link", "set", lab.places.leg, "alias", lab.places.leg_alias)


def _lab_namespace(lab: Lab) -> None:
    Namespace(lab.places.netns("gone-001")).make()


def _lab_control_group(lab: Lab) -> None:
    cgroups.make(f"{lab.places.cgroup}/gone-001", memory_mib=64)


def _lab_run_file(lab: Lab) -> None:
    lab.places.run.mkdir(parents=True)
    lab.places.socket.touch()


LAB_PLANTS = {
    parts.Kind.PROCESS: _lab_process,
    parts.Kind.MOUNT: _lab_mount,
    parts.Kind.LOOP: _lab_loop,
    parts.Kind.LINK: _lab_link,
    parts.Kind.NAMESPACE: _lab_namespace,
    parts.Kind.CGROUP: _lab_control_group,
    parts.Kind.RUN: _lab_run_file,
}


@pytest.mark.parametrize("kind", LAB_PLANTS)
def test_doctor_names_a_left_over_of_a_lab_and_down_removes_it(
    lab: Lab, small_lab: Lab, kind: parts.Kind
) -> None:
    del lab  # so that the folder of namespaces is there, whatever is planted
    small_lab.places.lab.mkdir(parents=True)
    LAB_PLANTS[kind](small_lab)
    faults = small_lab.json("lab", "doctor")["missing"]
    assert isinstance(faults, list)
    assert any(fault["code"] == "LAB113" and f"{kind} " in fault["got"] for fault in faults)
    small_lab.down()
    assert parts.find(small_lab.places) == []
