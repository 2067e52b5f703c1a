"""NCCL's own log (``NCCL_DEBUG=INFO``): which network, how many NICs, and whether GPUs are reached directly.

A loaded module or a good exit status is no evidence of a transport; these lines are. Of each host what it
says of itself; every rank must have come to ``Init COMPLETE``. The algorithm of a size stands there with
``NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH,TUNING``; rank 0 tells it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.flow import log
from rackwright.validate.parsers.unread import corrupt, incomplete

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rackwright.validate.parsers.flow import Flow

_LINE = re.compile(
    r"^(?:\[\d+,\d+\](?:<std(?:out|err)>)?:[ ]?|[ ]*\d+:[ ])?"
    r"([A-Za-z0-9._-]+):\d+:\d+ \[\d+\] NCCL (?:INFO|WARN) ?(.*)$",
    re.MULTILINE,
)
_MOST_RANKS = 2**20
_SIGN = " NCCL "
_ODD_ENDS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What ends a line for Python and not for a regular expression."""
_COMPLETE = re.compile(
    r"(?:ncclCommInit\w+ )?comm 0x[0-9a-f]+ rank (\d{1,8}) nranks (\d{1,8}) .*- Init COMPLETE"
)
_NETWORK = re.compile(r"Using network (\S.*)")
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is (\S+?),?(?: .*)?")
_NICS_OFI = re.compile(r"NET/OFI .*\(found (\d{1,6}) nics\).*")
_NICS_IB = re.compile(r"NET/IB : Using((?: \[\d+\]\S+/(?:IB|RoCE)(?:/SHARP)?)+).*")
_NIC = re.compile(r"\[\d+\]\S+/(?:IB|RoCE)")
_DIRECT = re.compile(r"(?:NET/IB : )?GPU Direct RDMA (Enabled|Disabled) for (?:HCA|GPU) .*")
_WAY = re.compile(r"Channel (\d+)/\d+ : \d+\[\w+\] -> \d+\[\w+\] \[(?:send|receive)\] via (NET/\S+)")
_NVLS = re.compile(r"NVLS multicast support is (available|not available).*")
_CHANNELS = re.compile(r"(\d{1,4}) coll channels, .*p2p channels.*")
_ALGORITHM = re.compile(
    r"(?:(\w+): +)?(\d{1,18}) Bytes -> Algo ([A-Za-z_]+|\d) proto \w+ (?:time|channel\{Lo\.\.Hi\}=).*"
)
_ALGORITHMS = ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat")
"""By number, as versions before 2.24 print them (NCCL, src/include/nccl_common.h)."""
_COLLECTIVES = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "Broadcast": "broadcast",
    "Reduce": "reduce",
}


@dataclass
class _Host:
    """What a host has said of itself."""

    networks: set[str] = field(default_factory=set)
    providers: set[str] = field(default_factory=set)
    nics: set[int] = field(default_factory=set)
    direct: set[bool] = field(default_factory=set)
    nvls: set[str] = field(default_factory=set)
    channels: set[int] = field(default_factory=set)


@dataclass
class _Log:
    """What all hosts have said."""

    hosts: dict[str, _Host] = field(default_factory=lambda: defaultdict(_Host))
    ranks: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Number of ranks of a communicator → those that were set up."""
    algorithms: dict[tuple[str, int], set[str]] = field(default_factory=lambda: defaultdict(set))
    """(collective, bytes) → algorithms."""
    last: str = ""


def _of_complete(found: re.Match[str], log: _Log, _: _Host) -> None:
    log.ranks[int(found[2])].add(int(found[1]))


def _of_nics_ib(found: re.Match[str], _: _Log, host: _Host) -> None:
    host.nics.add(len(_NIC.findall(found[1])))


def _of_algorithm(found: re.Match[str], log: _Log, _: _Host) -> None:
    named = found[3]
    if named.isdigit() and int(named) >= len(_ALGORITHMS):
        raise corrupt(f"algorithm {named} is none that is known here")
    algorithm = _ALGORITHMS[int(named)] if named.isdigit() else named.lower()
    log.algorithms[_COLLECTIVES.get(found[1] or "", ""), int(found[2])].add(algorithm)


_SPEAKS_OF: Mapping[str, tuple[re.Pattern[str], Callable[[re.Match[str], _Log, _Host], None]]] = {
    "Using network": (_NETWORK, lambda found, _, host: host.networks.add(found[1].strip())),
    "elected provider": (_PROVIDER, lambda found, _, host: host.providers.add(found[1])),
    "elected Provider": (_PROVIDER, lambda found, _, host: host.providers.add(found[1])),
    "NET/IB : Using": (_NICS_IB, _of_nics_ib),
    "GPU Direct RDMA": (_DIRECT, lambda found, _, host: host.direct.add(found[1] == "Enabled")),
    "via NET/": (_WAY, lambda found, _, host: host.direct.add("GDRDMA" in found[2])),
    "NVLS multicast": (_NVLS, lambda found, _, host: host.nvls.add(found[1])),
    "Init COMPLETE": (_COMPLETE, _of_complete),
    "coll channels, ": (_CHANNELS, lambda found, _, host: host.channels.add(int(found[1]))),
    "Bytes -> Algo": (_ALGORITHM, _of_algorithm),
}
"""Words → the form of all lines that have them, and what these lines tell."""


@log
def parse(flow: Flow) -> Iterator[Reading]:
    """Of each host: network, provider, NICs, GPUDirect; the ranks of all, and the algorithm of each size."""
    said = _Log()
    for block in flow.blocks():
        for name, message in _lines(block):
            host = said.hosts[name]
            for word in _SPEAKS_OF:
                if word in message:
                    _take(word, message, said, host)
            if " nics)" in message and (nics := _NICS_OFI.fullmatch(message)) is not None:
                host.nics.add(int(nics[1]))
            said.last = message
    ranks = _ranks(said)
    for name in sorted(said.hosts):
        yield from _of_host(name, said.hosts[name], ranks)
    yield from _algorithms(said, ranks)
    yield Reading(name="ranks", value=ranks, unit=Unit.COUNT)
    yield flow.reading()


def _lines(block: str) -> list[tuple[str, str]]:
    """Host and message of each line of NCCL's, of which none may be misread."""
    if any(end in block for end in _ODD_ENDS):
        block = "\n".join(block.splitlines())
    found: list[tuple[str, str]] = _LINE.findall(block)
    if block.count(_SIGN) != len(found):
        for line in block.split("\n"):
            if _SIGN in line and not _LINE.fullmatch(line):
                raise corrupt(f"a line of NCCL's that is not understood: {line[:80]!r}")
    return found


def _take(word: str, message: str, said: _Log, host: _Host) -> None:
    """What a line tells; one that speaks of what is looked for in another form than is known is refused."""
    form, tell = _SPEAKS_OF[word]
    found = form.fullmatch(message)
    if found is None:
        raise corrupt(f"{word.strip()} in no form that is known here: {message[:80]!r}")
    tell(found, said, host)


def _ranks(said: _Log) -> int:
    """How many ranks there are, all of which were set up."""
    if not said.ranks:
        raise incomplete("no rank came to the end of its setup")
    wanted = max(said.ranks)
    missing = wanted - len(said.ranks[wanted] & set(range(wanted))) if wanted <= _MOST_RANKS else wanted
    if missing or "Init START" in said.last:
        raise incomplete(f"{missing} of {wanted} ranks did not come to the end of their setup")
    return wanted


def _of_host(name: str, host: _Host, ranks: int) -> Iterator[Reading]:
    context = Context(node=name, ranks=ranks)
    network = _only(host.networks, f"{name}: network")
    if network is None:
        raise incomplete(f"{name} does not say which network it uses")
    yield Reading(name="network", value=network, unit=Unit.WORD, context=context)
    provider = _only(host.providers, f"{name}: provider")
    if provider is not None:
        yield Reading(name="provider", value=provider, unit=Unit.WORD, context=context)
    for said, numbers in (("nics", host.nics), ("channels", host.channels)):
        if len(numbers) > 1 and said == "nics":
            raise corrupt(f"{name}: its ranks use {sorted(numbers)} NICs")
        if numbers:
            yield Reading(name=said, value=min(numbers), unit=Unit.COUNT, context=context)
    if host.direct:
        yield Reading(name="gpudirect", value=all(host.direct), unit=Unit.YES_NO, context=context)
    nvls = _only(host.nvls, f"{name}: NVLS")
    if nvls is not None:
        yield Reading(name="nvls", value=nvls == "available", unit=Unit.YES_NO, context=context)


def _algorithms(said: _Log, ranks: int) -> Iterator[Reading]:
    """The algorithm of each size; where communicators differ in it, all of them, sorted."""
    for (collective, size), names in sorted(said.algorithms.items()):
        context = Context(collective=collective or None, size_bytes=size, ranks=ranks)
        yield Reading(name="algorithm", value=" ".join(sorted(names)), unit=Unit.WORD, context=context)


def _only(found: set[str], what: str) -> str | None:
    if len(found) > 1:
        raise corrupt(f"{what} is {' and '.join(sorted(found))[:80]}")
    return next(iter(found), None)
