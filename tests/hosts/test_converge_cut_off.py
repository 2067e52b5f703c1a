"""One converge of fresh hosts, cut off in every role and in every way: it goes on, and nothing is lost.

Then one of hosts that are set up: cut off between a file and the daemon that is to read it or to hand it on.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import pytest

from rackwright.converge import lock
from tests.hosts.lab import WITHIN_S, Lab, write_spec
from tests.roles.conftest import Site, wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.roles.conftest import Run

pytestmark = [pytest.mark.lab, pytest.mark.slow]

HEAD, NODES = "head-001", ("node-001", "node-002")
HOSTS = (HEAD, *NODES)
OPTIONS = ("--tags", "install,configure,validate")
INTERRUPTED = 130
HOLD = """#!/bin/sh
# Holds the command that `wanted` names, before it does its work or after.
line="${0##*/} $*"
hold() {
    wanted=$(cat /run/held/wanted 2>/dev/null) || return 0
    case "$wanted" in "$1 "*) ;; *) return 0 ;; esac
    case "$line" in ${wanted#* }) ;; *) return 0 ;; esac
    echo $$ > /run/held/by
    while [ -e /run/held/wanted ]; do sleep 0.1; done
}
hold before
/usr/bin/"${0##*/}" "$@"
code=$?
hold after
exit $code
"""
LOSE = """
pid=$(cat /run/held/by) all=
while [ "$pid" -gt 1 ] && ! grep -q ^sshd /proc/$pid/comm; do
    all="$pid $all" pid=$(awk '/^PPid:/ {print $2}' /proc/$pid/status)
done
kill -KILL $all
"""
"""The held command and all that wait for it, up to ssh's own, who waits first."""
PACKAGE = """set -e
mkdir -p /srv/repo/fio/DEBIAN
cd /srv/repo
printf '%s\\n' 'Package: fio' 'Version: 99' 'Architecture: all' 'Maintainer: test' > fio/DEBIAN/control
echo 'Description: test' >> fio/DEBIAN/control
printf '#!/bin/sh\\n/usr/local/sbin/systemctl is-active ssh.service\\n' > fio/DEBIAN/postinst
chmod 755 fio/DEBIAN/postinst
dpkg-deb --build fio fio.deb
cat fio/DEBIAN/control > Packages
size=$(stat --format=%s fio.deb) sha256=$(sha256sum fio.deb | cut -d' ' -f1)
printf 'Filename: ./fio.deb\\nSize: %s\\nSHA256: %s\\n' "$size" "$sha256" >> Packages
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d
echo 'deb [trusted=yes] file:/srv/repo ./' > /etc/apt/sources.list
dpkg --purge fio
"""
"""A host whose image has no fio, and which gets one, that takes its time, from a folder of its own."""


class Way(StrEnum):
    """How it is cut off."""

    CTRL_C = "Ctrl-C"
    """Of the whole process group, as a terminal sends it."""
    TERM = "SIGTERM"
    IMPATIENT = "two Ctrl-C"
    KILL = "SIGKILL"
    KILL_ALL = "SIGKILL of its process group"


KILLED = frozenset({Way.KILL, Way.KILL_ALL})


@dataclass(frozen=True)
class Cut:
    """One cut.

    Args:
        way: how.
        host: that it is about.
        moment: ``role: task`` that has ended there, or ``before`` or ``after`` and a command that is held.
        lost: what is held dies with the converge, as when the host does; else it goes on to its end.
    """

    way: Way
    host: str
    moment: str
    lost: bool = True

    @property
    def held(self) -> bool:
        return self.moment.startswith(("before ", "after "))


CUTS = (
    Cut(Way.KILL_ALL, HEAD, ": The inventory is what its model says"),
    Cut(Way.CTRL_C, HEAD, "base: Packages that are missing"),
    Cut(Way.IMPATIENT, HEAD, "before systemctl daemon-reexec"),
    Cut(Way.KILL, HEAD, "before systemctl restart munge.service"),
    Cut(Way.TERM, HEAD, "munge: Proof"),
    Cut(Way.KILL_ALL, HEAD, "slurm_accounting: Packages that are missing"),
    Cut(Way.KILL_ALL, HEAD, "after systemctl restart mariadb.service"),
    Cut(Way.CTRL_C, HEAD, "before systemctl restart slurmdbd.service", lost=False),
    Cut(Way.IMPATIENT, HEAD, "after sacctmgr * add account *"),
    Cut(Way.KILL, HEAD, "slurm_controller: Packages that are missing"),
    Cut(Way.KILL, HEAD, "before systemctl restart slurmctld.service", lost=False),
    Cut(Way.KILL_ALL, HEAD, "slurm_controller: Daemon"),
    Cut(Way.KILL_ALL, "node-002", "before systemctl restart munge.service"),
    Cut(Way.TERM, "node-001", "node_health: Program, and what this node should have"),
    Cut(Way.IMPATIENT, "node-002", "before systemctl restart slurmd.service"),
    Cut(Way.KILL_ALL, "node-001", "before sinfo *"),
    Cut(Way.TERM, "node-002", "before sinfo *", lost=False),
    Cut(Way.CTRL_C, "node-001", "collectives: Programs"),
    Cut(Way.KILL_ALL, "node-001", "before systemctl is-active ssh.service"),
    Cut(Way.KILL, "node-001", "before systemctl is-active ssh.service", lost=False),
    Cut(Way.IMPATIENT, "node-001", "burn_in: Packages that are missing"),
)
"""Controllers come first, then nodes side by side; the last but two and one are in a package's own set-up."""


@dataclass
class Converge:
    """A converge that is begun again and again."""

    site: Site

    def root(self, host: str, script: str) -> str:
        return str(self.site.host(host).check_output("sh -c %s", script))

    def await_output(self, host: str, script: str, output: str) -> None:
        wait(
            lambda: self.root(host, script) == output, lambda: f"{host}: {script}: {self.root(host, script)}"
        )

    def cut(self, cut: Cut) -> None:
        """Begin, or go on; wait for the moment; cut; see how it ended."""
        if cut.held:
            self.root(cut.host, f"rm -f /run/held/by; echo {shlex.quote(cut.moment)} > /run/held/wanted")
        with self._begin() as command:
            begun = time.time()
            while not self._has_come(cut, begun, command):
                assert time.time() < begun + WITHIN_S, f"never {cut}"
                time.sleep(0.02)
            self._stop(cut, begun, command)
            said = "".join(command.communicate(timeout=WITHIN_S))
        if cut.held:
            self.root(cut.host, LOSE if cut.lost else ":")
            self.release(cut)
        code = -signal.SIGKILL if cut.way in KILLED else INTERRUPTED
        assert command.returncode == code, f"{cut}: {said}"
        assert "Traceback" not in said
        assert cut.way in KILLED or ("INT001" in said and "the same command goes on from here" in said), said

    def _begin(self) -> subprocess.Popen[str]:
        lab = self.site.lab
        return subprocess.Popen(
            lab.command("converge", str(lab.spec), *OPTIONS),
            env=lab.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _has_come(self, cut: Cut, begun: float, command: subprocess.Popen[str]) -> bool:
        assert command.poll() is None, f"over before {cut}: {command.communicate()}"
        if cut.held:
            return bool(self.root(cut.host, "cat /run/held/by 2>/dev/null || true"))
        return (cut.host, cut.moment) in self._ended(begun)

    def _ended(self, begun: float) -> set[tuple[str, str]]:
        """Host and task of what has ended in this run; an older run may have left its file."""
        file = self.site.state / "converge" / "events.jsonl.partial"
        if not file.exists() or file.stat().st_mtime < begun:
            return set()
        lines = file.read_text().splitlines()
        events = [json.loads(line) for line in lines if line.endswith("}")]
        return {(one["host"], f"{one['role']}: {one['task']}") for one in events}

    def _stop(self, cut: Cut, begun: float, command: subprocess.Popen[str]) -> None:
        if cut.way is Way.TERM:
            command.terminate()
        elif cut.way is Way.KILL:
            command.kill()
        else:
            number = signal.SIGKILL if cut.way is Way.KILL_ALL else signal.SIGINT
            os.killpg(command.pid, number)
        if cut.way is Way.IMPATIENT:
            time.sleep(0.5)  # two signals at once are one
            os.killpg(command.pid, number)
        if cut.way in {Way.CTRL_C, Way.TERM} and cut.held:
            wait(lambda: self._stops(begun), lambda: "it does not stop")
            self.release(cut)

    def _stops(self, begun: float) -> bool:
        """Whether it has begun its last task; an older run may have left a file."""
        files = (self.site.state / "converge" / "shards").glob("*/stop")
        return any(file.stat().st_mtime > begun for file in files)

    def release(self, cut: Cut) -> None:
        self.root(cut.host, "rm -f /run/held/wanted")

    def done(self) -> Run:
        """It goes on to its end, and the next changes nothing."""
        run = self.site.converge(*OPTIONS)
        assert run.code == 0, run.said
        again = self.site.converge(*OPTIONS)
        assert (again.code, again.changed()) == (0, {}), again.said
        return run


@pytest.fixture(scope="module")
def hosts(
    tmp_path_factory: pytest.TempPathFactory, ranges: Iterator[str], can_hold_a_lab: None
) -> Iterator[Site]:
    """A head and two nodes, on and known, that nothing was ever done to; commands on them can be held."""
    del can_hold_a_lab
    folder, prefix = tmp_path_factory.mktemp("cut"), next(ranges)
    name = f"lab-cut-{prefix.rpartition('.')[2]}"
    lab = Lab(name, write_spec(folder / "clusters", name, prefix, len(NODES)), prefix, folder / "state")
    try:
        lab.up()
        lab.rackwright("plan", str(lab.spec))
        lab.prepare()
        lab.boot(*HOSTS)
        lab.rackwright("inventory", str(lab.spec), "--wait", "60")
        yield Site(lab)
    finally:
        lab.down()


@pytest.fixture
def converge(hosts: Site) -> Iterator[Converge]:
    one = Converge(hosts)
    for host in HOSTS:
        one.root(host, "mkdir -p -m 0777 /run/held")
        for name in ("systemctl", "scontrol", "sacctmgr", "sinfo"):
            path = f"/usr/local/sbin/{name}"
            one.root(host, f"printf %s {shlex.quote(HOLD)} > {path}; chmod 755 {path}")
    yield one
    for host in HOSTS:
        one.root(host, "rm -f /run/held/wanted /usr/local/sbin/s*")


def _processes_here(site: Site) -> list[str]:
    folder = str(site.state / "converge")
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if folder in line]


def _assert_nothing_is_left(converge: Converge) -> None:
    """No process here or there, no lock, no package half installed."""
    site = converge.site
    folder = site.state / "converge"
    wait(lambda: not _processes_here(site), lambda: str(_processes_here(site)))
    for host in HOSTS:
        converge.await_output(host, "pgrep --full --list-full BECOME-SUCCES[S] || true", "")
        assert converge.root(host, "dpkg --audit") == ""
    assert lock.holder(folder) == ""
    with lock.held(folder):  # and no runner's
        pass
    assert not list(folder.glob("*.partial"))


def _assert_daemons_have_their_files(converge: Converge) -> None:
    """Each was started after its files changed last; nodes have what the controller has."""
    daemons = {
        "munge": ("/etc/munge/munge.key",),
        "mariadb": ("/etc/mysql/mariadb.conf.d/60-rackwright.cnf", "/etc/mysql/rackwright.sql"),
        "slurmdbd": ("/etc/slurm/slurmdbd.conf",),
        "slurmd": ("/etc/default/slurmd", "/etc/systemd/system/slurmd.service.d/60-rackwright.conf"),
    }
    on_nodes = {"munge", "slurmd"}
    for host in HOSTS:
        for name in on_nodes if host in NODES else daemons.keys() - {"slurmd"}:
            shown = converge.root(host, f"systemctl show -P ActiveEnterTimestamp --timestamp=unix {name}")
            changed = converge.root(host, f"stat --format=%Z {' '.join(daemons[name])}").split()
            assert int(shown.removeprefix("@")) >= max(map(int, changed)), (host, name)
    conf = converge.root(HEAD, "cat /etc/slurm/slurm.conf")
    for node in NODES:
        converge.await_output(node, "cat /run/slurm/conf/slurm.conf", conf)


def test_hosts_are_set_up_though_their_converge_is_cut_off_in_every_role(converge: Converge) -> None:
    for node in NODES:
        converge.root(node, PACKAGE)
    for cut in CUTS:
        converge.cut(cut)
    converge.done()
    converge.site.await_idle(*NODES)
    _assert_daemons_have_their_files(converge)
    _assert_nothing_is_left(converge)
    for node in NODES:
        assert "99" in converge.root(node, "dpkg-query --show fio")


def _set(converge: Converge, key: str, value: str) -> None:
    """The spec with another value of slurm.conf."""
    spec = converge.site.lab.spec
    lines = spec.read_text().splitlines()
    (number,) = (number for number, line in enumerate(lines) if line.strip().startswith(f"{key}: "))
    lines[number] = f"{lines[number].partition(':')[0]}: {value}"
    spec.write_text("\n".join(lines) + "\n")
    converge.site.lab.rackwright("plan", str(spec))


def _handed_on(converge: Converge, node: str) -> str:
    return converge.root(node, "cat /run/slurm/conf/slurm.conf")


def _assert_all_have(converge: Converge, key: str, value: str) -> None:
    run = converge.done()
    assert "slurm_controller: Daemon" in run.changed()[HEAD]
    shown = converge.root(HEAD, f"scontrol show config | grep ^{key}")
    assert shown.split()[-1] == value or value in shown, shown
    _assert_daemons_have_their_files(converge)


@pytest.fixture
def set_up(converge: Converge) -> Converge:
    """Converged, with Slurm up: by the test before, or else now."""
    run = converge.site.converge(*OPTIONS)
    assert run.code == 0, run.said
    converge.site.await_idle(*NODES)
    return converge


def test_a_change_is_brought_to_effect_though_it_is_cut_off_between_file_and_daemon(
    set_up: Converge,
) -> None:
    _set(set_up, "KillWait", "6")
    set_up.cut(Cut(Way.TERM, HEAD, "before systemctl show *slurmdbd.service", lost=False))
    assert "KillWait=5" in _handed_on(set_up, "node-001")
    _assert_all_have(set_up, "KillWait", "6 sec")
    _set(set_up, "KillWait", "7")
    set_up.cut(Cut(Way.KILL_ALL, HEAD, "before scontrol reconfigure"))
    assert "KillWait=6" in _handed_on(set_up, "node-001")
    _assert_all_have(set_up, "KillWait", "7 sec")


def test_nodes_are_told_though_it_is_cut_off_between_the_restart_and_that(set_up: Converge) -> None:
    _set(set_up, "AuthInfo", "cred_expire=6")
    set_up.cut(Cut(Way.KILL, HEAD, "after systemctl restart slurmctld.service"))
    _assert_all_have(set_up, "AuthInfo", "cred_expire=6")


def test_nodes_are_told_though_the_controller_has_booted_since_it_was_cut_off(set_up: Converge) -> None:
    _set(set_up, "KillWait", "8")
    set_up.cut(Cut(Way.IMPATIENT, HEAD, "before scontrol reconfigure"))
    set_up.site.lab.reset(HEAD, "ForceOff")
    set_up.site.lab.wait(HEAD, "off")
    set_up.site.lab.boot(HEAD)
    set_up.root(HEAD, "mkdir -p -m 0777 /run/held")
    _assert_all_have(set_up, "KillWait", "8 sec")


def test_a_new_munge_key_is_every_daemons_though_it_is_cut_off_before_one_of_them(set_up: Converge) -> None:
    (set_up.site.state / "secrets" / "munge.key").unlink()
    set_up.cut(Cut(Way.KILL_ALL, "node-001", "before systemctl restart munge.service"))
    set_up.cut(Cut(Way.KILL, "node-002", "munge: Key"))
    set_up.done()
    set_up.site.await_idle(*NODES)
    _assert_daemons_have_their_files(set_up)
    _assert_nothing_is_left(set_up)
