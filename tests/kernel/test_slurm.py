"""What Slurm holds jobs and logins to on a kernel of its own, and that no reboot comes upon a job."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from rackwright.converge.reboot_hosts import NOTES
from tests.kernel.guests import HEAD, NODE
from tests.kernel.machine import wait_for
from tests.kernel.slurm import DEVICES, USER

if TYPE_CHECKING:
    from tests.kernel.slurm import Slurm

ALLOWED = "grep Cpus_allowed_list /proc/self/status"
BUFFERED = "head -c 200000000 /dev/zero | tail -n 1 | wc -c"
"""`tail` holds all of it in memory."""
OPENED = "; ".join(f"(: <{device}) 2>/dev/null && echo {device}" for device in DEVICES)


def test_a_job_is_held_to_its_memory_and_its_core(slurm: Slurm) -> None:
    guests = slurm.guests
    assert slurm.job(BUFFERED, "--mem=400") == "200000000"
    assert "Out Of Memory" in slurm.job(BUFFERED, "--mem=100 --job-name=greedy", code=1)
    assert "JobState=OUT_OF_MEMORY" in guests.run(HEAD, "scontrol show jobs | grep -A3 JobName=greedy")
    killed = guests.run(NODE, "dmesg | grep oom-kill")
    assert "CONSTRAINT_MEMCG" in killed
    assert "slurmstepd.scope/job_" in killed

    assert slurm.job(ALLOWED, "--cpus-per-task=2").split()[-1] == "0-1"
    assert slurm.job(f"taskset --cpu-list 0-1 {ALLOWED}", "--cpus-per-task=1").split()[-1] in {"0", "1"}


def test_a_job_opens_the_devices_that_it_asked_for_and_no_other(slurm: Slurm) -> None:
    assert slurm.job(f"{OPENED}; true") == ""
    assert slurm.job(f"{OPENED}; true", "--gres=gpu:1") in DEVICES
    assert slurm.job(f"{OPENED}; true", "--gres=gpu:2").split() == list(DEVICES)


def test_locked_memory_is_the_nodes_and_not_that_of_who_submits(slurm: Slurm) -> None:
    guests = slurm.guests
    pid = "$(systemctl show --property=MainPID --value slurmd)"
    limit = guests.run(NODE, f"grep 'Max locked memory' /proc/{pid}/limits").split()[3:5]
    assert limit == ["unlimited", "unlimited"]
    words = f"cd /; ulimit -l 64; ulimit -l; srun --nodelist={NODE} sh -c 'ulimit -l'"
    assert guests.run(HEAD, f'su {USER} -c "{words}"').split() == ["64", "unlimited"]


NO_LOGIN = 255
"""What ssh ends with where it is not let in."""


def _login(slurm: Slurm, command: str = "true") -> subprocess.CompletedProcess[str]:
    words = ["ssh", "-F", str(slurm.guests.ssh_config), "-o", "ControlPath=none", "-o", "ConnectTimeout=120"]
    return subprocess.run(
        [*words, "-l", USER, NODE, command], capture_output=True, text=True, check=False, timeout=300
    )


def test_who_has_a_job_logs_in_to_it_and_nobody_else_does(slurm: Slurm) -> None:
    guests = slurm.guests
    refused = _login(slurm)
    assert refused.returncode == NO_LOGIN, refused.stdout
    assert guests.user(NODE, "id --user --name") == "rackwright", "an operator logs in to mend a node"

    job = slurm.submit(3600, "--cpus-per-task=1 --mem=100")
    login = _login(slurm, f"cat /proc/self/cgroup; {ALLOWED}")
    assert login.returncode == 0, login.stderr
    assert f"slurmstepd.scope/job_{job}/step_extern" in login.stdout
    assert login.stdout.split()[-1] in {"0", "1"}
    assert _login(slurm, f"{BUFFERED}").stdout.strip() != "200000000"

    held = _login(slurm, "nohup sleep 3000 >/dev/null 2>&1 & echo on")
    assert held.stdout.strip() == "on"
    guests.run(HEAD, f"scancel {job}")
    wait_for(
        lambda: guests.run(NODE, "pgrep -x sleep || true") == "",
        lambda: "what a login left outlives its job",
    )
    assert _login(slurm).returncode == NO_LOGIN


def test_a_reboot_is_held_while_a_job_runs_and_done_when_it_is_over(slurm: Slurm) -> None:
    guests = slurm.guests
    guests.run(NODE, f"mkdir -p {NOTES}; echo 'a test says so' >{NOTES}/test")
    before = {name: guests.boot_id(name) for name in (HEAD, NODE)}
    job = slurm.submit(3600)
    held = guests.json("reboot", str(guests.spec), "--apply")["hosts"]
    assert isinstance(held, dict)
    assert {host: (one["end"], one["message"]) for host, one in held.items()} == {
        NODE: ("held", f"jobs {job} run on it")
    }
    assert guests.boot_id(NODE) == before[NODE]
    assert guests.run(HEAD, f"squeue --noheader --jobs={job} --format=%T") == "RUNNING"
    assert slurm.state() in {"mixed", "allocated"}, "its drain is taken back"

    guests.run(HEAD, f"scancel {job}")
    slurm.await_idle()
    done = guests.json("reboot", str(guests.spec), "--apply")["hosts"]
    assert isinstance(done, dict)
    assert {host: one["end"] for host, one in done.items()} == {NODE: "rebooted"}
    assert guests.boot_id(NODE) != before[NODE]
    assert guests.boot_id(HEAD) == before[HEAD]
    slurm.await_idle()
