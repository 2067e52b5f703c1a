"""Logs of a fleet of eight GPUs a node, of any size, the same each time: what a run of thousands leaves.

Of each node its kernel's log and, again and again, `nvidia-smi` and port counters; of all together one log of
NCCL in which their lines stand between one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, repeat
from typing import TYPE_CHECKING

from rackwright.validate.model import Tool
from rackwright.validate.parsers.lines import seal as sealed_line
from rackwright.validate.parsers.sealing import seal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GPUS = 8
KERNEL = (
    "systemd[1]: Started Session {n} of User rackwright.",
    "mlx5_core 0000:{h:02x}:00.0 ibp24s0: Link up",
    'audit: type=1400 audit(1764324{n:03d}.123:{n}): apparmor="STATUS" operation="profile_load"',
    "nvme nvme{k}: Shutdown timeout set to 10 seconds",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build",
    "perf: interrupt took too long ({n} > 2500), lowering kernel.perf_event_max_sample_rate to 79750",
    "Lustre: {n}:0:(client.c:2310:ptlrpc_expire_one_request()) @@@ Request sent has timed out for sent delay",
    "EXT4-fs (nvme{k}n1p1): mounted filesystem with ordered data mode. Quota mode: none.",
)
SETUP = (
    "NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)",
    "Using network AWS Libfabric",
    "24 coll channels, 0 nvls channels, 32 p2p channels, 2 p2p channels per peer",
)
BROKEN = 64
"""In every so manyth node an Xid stands in the kernel's log."""
EACH = 2**16
"""So many bytes of all there are for one answer of GPUs and one of ports: four of each node in a gibibyte."""
QUERY = (
    "index, count, uuid, temperature.gpu, power.draw [W], ecc.errors.uncorrected.aggregate.total, "
    "remapped_rows.failure, clocks_event_reasons.active, pcie.link.width.current\n"
)


@dataclass(frozen=True, slots=True)
class Written:
    """One file."""

    tool: Tool
    path: Path
    size: int


def write(folder: Path, nodes: int, size: int) -> list[Written]:
    """Files of about so many bytes in all, half of them NCCL's log, most of the rest the kernels'."""
    found = [_file(Tool.NCCL_LOG, folder / "nccl.log", _nccl(nodes, size // 2))]
    for asked in range(size // EACH):
        poll, node = divmod(asked, nodes)
        name = f"node-{node + 1:04d}"
        found.append(_file(Tool.NVIDIA_SMI, folder / f"{name}.smi{poll}", [_smi(node, poll)]))
        found.append(_file(Tool.COUNTERS, folder / f"{name}.ports{poll}", [_counters(name, poll)]))
    left = (size - sum(one.size for one in found)) // nodes
    found += [
        _file(Tool.DMESG, folder / f"node-{node + 1:04d}.dmesg", [_kernel(node, left)])
        for node in range(nodes)
    ]
    return found


def _file(tool: Tool, path: Path, parts: list[str] | Iterator[str]) -> Written:
    with path.open("w", encoding="utf-8") as file:
        size = sum(file.write(part) for part in parts)
    return Written(tool, path, size)


def _smi(node: int, poll: int) -> str:
    rows = [
        f"{gpu}, {GPUS}, GPU-{node:08x}-0000-0000-0000-{gpu:012x}, {40 + (node + poll) % 30}, "
        f"{300 + (node + gpu) % 400}.50 W, 0, No, 0x0000000000000000, 16\n"
        for gpu in range(GPUS)
    ]
    return seal(QUERY + "".join(rows))


def _counters(name: str, poll: int) -> str:
    lines = [
        {
            "schema": "rackwright/counters/1",
            "kind": "sample",
            "host": name,
            "device": "mlx5_0",
            "port": 1,
            "ports": 1,
            "at_s": 100.0 + 60 * (poll + later),
            "values": {"port_xmit_data": 10**9 * (poll + later + 1), "link_downed": 0, "symbol_error": 0},
        }
        for later in (0, 1)
    ]
    return "".join(f"{sealed_line(line)}\n" for line in lines)


def _kernel(node: int, size: int) -> str:
    lines: list[str] = []
    length = 0
    for number in count():
        said = KERNEL[number % len(KERNEL)].format(n=number % 1000, h=(node + number) % 256, k=number % 8)
        if node % BROKEN == 0 and number == 5:
            said = "NVRM: Xid (PCI:0000:1b:00): 94, pid=4242, name=python3, Contained: SM (0x1)"
        line = f"[{number * 0.75:12.6f}] {said}\n"
        length += len(line)
        if length > size:
            return seal("".join(lines))
        lines.append(line)
    raise AssertionError


def _nccl(nodes: int, size: int) -> Iterator[str]:
    """Rounds of one line of each rank, the last of them its last."""
    ranks = nodes * GPUS
    written = 0
    for said in SETUP:
        block = "".join(f"{_head(rank)}{said}\n" for rank in range(ranks))
        written += len(block)
        yield block
    for channel in count():
        part = "".join(_way(rank, ranks, channel) for rank in range(ranks))
        if written + 2 * len(part) > size:
            break
        written += len(part)
        yield part
    yield "".join(map(_complete, range(ranks), repeat(ranks)))


def _complete(rank: int, ranks: int) -> str:
    gpu = rank % GPUS
    said = f"ncclCommInitRank comm 0x55d0c{rank:06x} rank {rank} nranks {ranks} cudaDev {gpu} nvmlDev {gpu}"
    return f"{_head(rank)}{said} busId 1b000 commId 0x9a2b - Init COMPLETE\n"


def _head(rank: int) -> str:
    return f"node-{rank // GPUS + 1:04d}:{4000 + rank % GPUS}:{5000 + rank % GPUS} [{rank % GPUS}] NCCL INFO "


def _way(rank: int, ranks: int, channel: int) -> str:
    """Within a node for most, over the network for the first and the last of it."""
    way = "NET/AWS_Libfabric/0/GDRDMA" if rank % GPUS in (0, GPUS - 1) else "P2P/CUMEM/read"
    other, arrow = (rank + 1) % ranks, "[send] " if "NET" in way else ""
    said = f"Channel {channel % 32:02d}/0 : {rank}[{rank % GPUS}] -> {other}[{other % GPUS}] {arrow}via {way}"
    return f"{_head(rank)}{said}\n"
