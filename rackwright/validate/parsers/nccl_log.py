"""NCCL's own log (``NCCL_DEBUG=INFO``): which network, how many NICs, and whether GPUs are reached directly.

A loaded module or a good exit status is no evidence of a transport; these lines are. Of each host what it
says of itself; every rank must have come to ``Init COMPLETE``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.sealing import body_of
from rackwright.validate.parsers.unread import corrupt, incomplete, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE = re.compile(
    r"(?:\[\d+,\d+\](?:<std(?:out|err)>)?:[ ]?|[ ]*\d+:[ ])?"
    r"(?P<host>[A-Za-z0-9._-]+):\d+:\d+ \[\d+\] NCCL (?P<level>INFO|WARN) ?(?P<said>.*)"
)
_COMPLETE = re.compile(r"(?:ncclCommInit\w+ )?comm 0x[0-9a-f]+ rank (\d+) nranks (\d+) .*- Init COMPLETE")
_NETWORK = re.compile(r"Using network (\S.*)")
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is (\S+?),?(?: .*)?")
_NICS_OFI = re.compile(r"NET/OFI .*\(found (\d+) nics\).*")
_NICS_IB = re.compile(r"NET/IB : Using((?: \[\d+\]\S+/(?:IB|RoCE)(?:/SHARP)?)+).*")
_NIC = re.compile(r"\[\d+\]\S+/(?:IB|RoCE)")
_DIRECT = re.compile(r"(?:NET/IB : )?GPU Direct RDMA (Enabled|Disabled) for (?:HCA|GPU) .*")
_WAY = re.compile(r"Channel (\d+)/\d+ : \d+\[\w+\] -> \d+\[\w+\] \[(?:send|receive)\] via (NET/\S+)")
_NVLS = re.compile(r"NVLS multicast support is (available|not available).*")
_SPEAKS_OF = {
    "Using network": _NETWORK,
    "elected provider": _PROVIDER,
    "NET/IB : Using": _NICS_IB,
    "GPU Direct RDMA": _DIRECT,
    "via NET/": _WAY,
    "NVLS multicast": _NVLS,
    "Init COMPLETE": _COMPLETE,
}
"""Words → the form of all lines that have them."""


@strict
def parse(text: str) -> Iterator[Reading]:
    """Of each host: network, provider, NICs, GPUDirect; and the ranks of all."""
    body = body_of(text)
    said: dict[str, list[str]] = defaultdict(list)
    for line in body.lines:
        found = _LINE.fullmatch(line)
        if found is not None:
            _known(found["said"])
            said[found["host"]].append(found["said"])
        elif " NCCL " in line:
            raise corrupt(f"a line of NCCL's that is not understood: {line[:80]!r}")
    ranks = _ranks([line for lines in said.values() for line in lines])
    for host in sorted(said):
        yield from _of_host(host, said[host], ranks)
    yield Reading(name="ranks", value=ranks, unit=Unit.COUNT)
    yield body.reading()


def _known(said: str) -> None:
    """Refuse a line that speaks of what is looked for in another form than is known."""
    for word, form in _SPEAKS_OF.items():
        if word in said and not form.fullmatch(said):
            raise corrupt(f"{word} in no form that is known here: {said[:80]!r}")


def _ranks(lines: list[str]) -> int:
    """How many ranks there are, all of which were set up."""
    found = [(int(one[1]), int(one[2])) for line in lines if (one := _COMPLETE.fullmatch(line))]
    sizes = {of for _, of in found}
    if not found:
        raise incomplete("no rank came to the end of its setup")
    wanted = max(sizes)
    missing = set(range(wanted)) - {rank for rank, of in found if of == wanted}
    if missing or any("Init START" in line for line in lines[-1:]):
        raise incomplete(f"{len(missing)} of {wanted} ranks did not come to the end of their setup")
    return wanted


def _of_host(host: str, lines: list[str], ranks: int) -> Iterator[Reading]:
    context = Context(node=host, ranks=ranks)
    network = _only(_NETWORK, lines, f"{host}: network")
    if network is None:
        raise incomplete(f"{host} does not say which network it uses")
    yield Reading(name="network", value=network, unit=Unit.WORD, context=context)
    provider = _only(_PROVIDER, lines, f"{host}: provider")
    if provider is not None:
        yield Reading(name="provider", value=provider, unit=Unit.WORD, context=context)
    nics = {int(one[1]) for line in lines if (one := _NICS_OFI.fullmatch(line))}
    listed = [one[1] for line in lines if (one := _NICS_IB.fullmatch(line))]
    nics |= {len(_NIC.findall(names)) for names in listed}
    if len(nics) > 1:
        raise corrupt(f"{host}: its ranks use {sorted(nics)} NICs")
    if nics:
        yield Reading(name="nics", value=nics.pop(), unit=Unit.COUNT, context=context)
    direct = _direct(lines)
    if direct is not None:
        yield Reading(name="gpudirect", value=direct, unit=Unit.YES_NO, context=context)
    nvls = _only(_NVLS, lines, f"{host}: NVLS")
    if nvls is not None:
        yield Reading(name="nvls", value=nvls == "available", unit=Unit.YES_NO, context=context)


def _only(form: re.Pattern[str], lines: list[str], what: str) -> str | None:
    found = {one[1].strip() for line in lines if (one := form.fullmatch(line))}
    if len(found) > 1:
        raise corrupt(f"{what} is {' and '.join(sorted(found))[:80]}")
    return found.pop() if found else None


def _direct(lines: list[str]) -> bool | None:
    """Whether every way over the network, and every NIC, goes to GPUs directly; None where none says it."""
    words = {one[1] == "Enabled" for line in lines if (one := _DIRECT.fullmatch(line))}
    words |= {"GDRDMA" in one[2] for line in lines if (one := _WAY.fullmatch(line))}
    return all(words) if words else None
