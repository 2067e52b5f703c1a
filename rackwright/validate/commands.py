"""Command lines of the tools, as they run on the controller: `srun` places them, `timeout` ends them.

Nothing here decides what is run; every figure comes from the suite, every name from the plan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright.hostlists import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwright.validate.suite import (
        Collectives,
        Counters,
        DcgmDiag,
        Disk,
        GpuState,
        KernelLog,
        Link,
        Matrix,
        Memory,
        NcclTests,
        NccomTest,
        Pairs,
    )

PROGRAMS = "/usr/local/lib/rackwright"
"""Where the roles burn_in and collectives lay our programs out."""
LEAST_MEMORY_MIB = 64
"""Where nobody says how much a node has."""
KILL_AFTER_S = 10
"""A step that does not end when it is told to is killed after so long."""
NCCOM_PORT = 62128


@dataclass(frozen=True, slots=True)
class Task:
    """What one step runs, and how often.

    Args:
        words: the program with its arguments.
        environment: of the program.
        per_node: copies on each node.
        mpi: Slurm's plugin that wires the copies up; empty for none.
        gpus_per_node: accelerators of each node that it needs.
        on_first_only: whether Slurm starts it on the first node alone.
    """

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    per_node: int = 1
    mpi: str = ""
    gpus_per_node: int = 0
    on_first_only: bool = False


def srun(task: Task, job_name: str, nodes: Sequence[str], job: int, limit_s: float) -> tuple[str, ...]:
    """A step of an allocation, as it is run on the controller.

    Steps overlap: one that was lost with its node still holds the processors of its others. `timeout` says
    on stderr when it ends one (`was_stopped`): its exit status alone may be that of a program.
    """
    started_on = nodes[:1] if task.on_first_only else nodes
    environment = [f"{name}={value}" for name, value in sorted(task.environment.items())]
    options = [
        f"--jobid={job}",
        "--overlap",
        f"--job-name={job_name}",
        f"--nodes={len(started_on)}",
        f"--nodelist={folded(started_on)}",
        f"--ntasks={len(started_on) * task.per_node}",
        f"--ntasks-per-node={task.per_node}",
        "--kill-on-bad-exit=1",
        *([f"--gpus-per-node={task.gpus_per_node}"] if task.gpus_per_node else []),
        *([f"--mpi={task.mpi}"] if task.mpi else []),
    ]
    ended = ["timeout", "--verbose", f"--kill-after={KILL_AFTER_S}", f"{limit_s:g}"]
    return (*(["env", *environment] if environment else []), *ended, "srun", *options, *task.words)


_STOPPED = re.compile(r"timeout: .*\b(TERM|KILL)\b")
"""How timeout(1) with ``--verbose`` says so, whatever the language."""


_TIME_IS_OVER = frozenset({124, 137})
"""Its exit status then, by TERM or KILL. A signal that somebody sends it is told alike, by another status."""


def was_stopped(status: int, stderr: Iterable[str]) -> bool:
    """Whether exit status and stderr of a command say that its time was over."""
    return status in _TIME_IS_OVER and any(_STOPPED.match(line) for line in stderr)


def _ours(program: str, *words: str) -> tuple[str, ...]:
    return ("python3", f"{PROGRAMS}/{program}.py", *words)


def _whole(*words: str) -> tuple[str, ...]:
    """Output of a foreign tool, sealed where it is made: it would not tell that something is missing."""
    return ("python3", f"{PROGRAMS}/collect.py", *words)


def links(interfaces: Sequence[str]) -> Task:
    """State of a node's rail interfaces."""
    return Task(_ours("links", *interfaces))


def link(check: Link, target: str, address: str, mtu: int) -> Task:
    """The way over a link to a host of another site.

    Args:
        check: with its probes.
        target: the other slot.
        address: of it.
        mtu: largest packet that the link is planned for, bytes.
    """
    words = ("--target", target, "--address", address, "--mtu", str(mtu), "--probes", str(check.probes))
    return Task(_ours("link", *words))


def clock(questions: int, interface: str | None, environment: Mapping[str, str]) -> Task:
    """Offsets of the clocks of all nodes, asked over the management network where its interface is known."""
    return Task(
        _ours("clock", "--questions", str(questions)),
        {**environment, **_through([interface] if interface else [])},
        mpi="pmix",
    )


def matrix(check: Matrix) -> Task:
    """The matrix product."""
    return Task(_ours("matrix", "--order", str(check.order), "--seconds", f"{check.seconds:g}"))


def memory(check: Memory, memory_mib: int | None) -> Task:
    """Two stressors that verify what they wrote: of memory as it is, and of memory that is moved."""
    size = max(int((memory_mib or 0) * check.share), LEAST_MEMORY_MIB)
    words = ("--vm", "1", "--vm-bytes", f"{size}M", "--memcpy", "1", "--verify")
    return Task(("stress-ng", *words, "--timeout", f"{check.seconds}s", "--metrics", "--yaml", "/dev/stdout"))


def disk(check: Disk) -> Task:
    """A file that is written past the page cache, read back and verified, then gone."""
    settings = {
        "name": "rackwright",
        "directory": check.folder,
        "size": f"{check.size_mib}M",
        "bs": f"{check.block_kib}K",
        "rw": "write",
        "direct": "1",
        "verify": "crc32c",
        "do_verify": "1",
        "unlink": "1",
        "output-format": "json",
    }
    return Task(("fio", *(f"--{name}={value}" for name, value in settings.items())))


def pair(check: Pairs, server: str, addresses: tuple[str, str], rail: int, *, reverse: bool) -> Task:
    """Client and server of iperf3 in one step.

    Args:
        check: with its times.
        server: slot that serves.
        addresses: of client and server on the rail.
        rail: each has a port of its own.
        reverse: whether the server sends.
    """
    client_address, server_address = addresses
    words = ("--server", server, "--address", server_address, "--bind", client_address)
    times = ("--port", str(check.port + rail), "--seconds", str(check.seconds))
    return Task(_ours("pair", *words, *times, *(["--reverse"] if reverse else [])))


def collectives(check: Collectives, interfaces: Sequence[str], environment: Mapping[str, str]) -> Task:
    """Our own collectives over these interfaces and no others."""
    rows = [f"{name}:{','.join(map(str, sizes))}" for name, sizes in check.sizes.items()]
    return Task(
        _ours("collectives", "--iterations", str(check.iterations), *rows),
        {**environment, **check.environment, **_through(interfaces)},
        mpi="pmix",
    )


def nccl_test(check: NcclTests, program: str, accelerators: int) -> Task:
    """One program of nccl-tests, a process an accelerator, results checked.

    Its JSON goes to a file of the first node and would be a stale one's where a name is taken
    (facts: nccl-tests 2.17.3 and later), so its table on stdout is the evidence.
    """
    words = ("-b", str(check.from_bytes), "-e", str(check.to_bytes), "-f", "2", "-g", "1")
    return Task(
        (program, *words, "-n", str(check.iterations), "-c", "1"),
        check.environment,
        per_node=accelerators,
        mpi="pmix",
        gpus_per_node=accelerators,
    )


def nccom_test(check: NccomTest, collective: str, addresses: Sequence[str], accelerators: int) -> Task:
    """nccom-test over all nodes, started on the first one; it reaches the others by ssh.

    Results are not checked unless it is asked to (``--check``).
    """
    ranks = len(addresses) * accelerators * check.ranks_per_accelerator
    words = ("-N", str(len(addresses)), "-r", str(ranks), "--minbytes", str(check.from_bytes))
    sizes = ("--maxbytes", str(check.to_bytes), "--stepfactor", "2", "--datatype", "fp32", "--check")
    return Task(
        ("nccom-test", *words, *sizes, collective, "--hosts", *addresses),
        {**check.environment, "NEURON_RT_ROOT_COMM_ID": f"{addresses[0]}:{NCCOM_PORT}"},
        on_first_only=True,
    )


def counters(check: Counters, run: str, interfaces: Sequence[str]) -> Task:
    """Counters of a node, kept there before the load of a run, and told together with those after it."""
    moment, file = "--after" if check.after else "--before", f"{check.folder}/rackwright-counters.json"
    return Task(_ours("counters", "--run", run, moment, file, *interfaces))


def kernel_log(check: KernelLog) -> Task:
    """The kernel's log, that of earlier boots too where the journal keeps it; shown to root alone.

    Not ``--quiet``: that would leave out where a boot begins.
    """
    form = ("--no-pager", "--output=short-iso-precise", f"--since=-{check.days}d", "_TRANSPORT=kernel")
    return Task(_whole("sudo", "-n", "journalctl", *form))


def gpu_state(check: GpuState) -> Task:
    """State of all GPUs of a node."""
    columns = ",".join(dict.fromkeys(("index", "count", *check.columns)))
    return Task(_whole("nvidia-smi", f"--query-gpu={columns}", "--format=csv"))


def nvlinks() -> Task:
    """State of all NVLinks of a node."""
    return Task(_whole("nvidia-smi", "nvlink", "--status"))


def dcgm_diag(check: DcgmDiag) -> Task:
    """DCGM's diagnosis as a document, which says itself what it has to have."""
    return Task(("dcgmi", "diag", "-r", str(check.level), "-j"))


def _through(interfaces: Sequence[str]) -> dict[str, str]:
    return {"OMPI_MCA_btl_tcp_if_include": ",".join(interfaces)} if interfaces else {}
