"""Tool → its parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.validate.model import Completeness, Parsed, Tool
from rackwright.validate.parsers import (
    clock,
    collectives,
    counters,
    dcgm_diag,
    dmesg,
    ethtool,
    fio,
    gpu_burn,
    ibdiagnet,
    iblinkinfo,
    iperf3,
    link,
    links,
    lspci,
    matrix,
    nccl_log,
    nccl_tests,
    nccom_test,
    nvbandwidth,
    nvidia_smi,
    nvlink,
    perftest,
    stress_ng,
)
from rackwright.validate.parsers.unread import Unread, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

LOGS: Mapping[Tool, Callable[[str | Iterable[str]], Parsed]] = {
    Tool.NCCL_TESTS: nccl_tests.parse,
    Tool.RCCL_TESTS: nccl_tests.parse,
    Tool.DMESG: dmesg.parse,
    Tool.NCCL_LOG: nccl_log.parse,
}
"""Tools whose outputs may be of any length: they are read part by part."""
PARSERS: Mapping[Tool, Callable[[str], Parsed]] = {
    Tool.COLLECTIVES: collectives.parse,
    Tool.MATRIX: matrix.parse,
    Tool.STRESS_NG: stress_ng.parse,
    Tool.FIO: fio.parse,
    Tool.IPERF3: iperf3.parse,
    Tool.LINK: link.parse,
    Tool.LINKS: links.parse,
    Tool.CLOCK: clock.parse,
    Tool.NCCL_TESTS: nccl_tests.parse,
    Tool.RCCL_TESTS: nccl_tests.parse,
    Tool.NCCOM_TEST: nccom_test.parse,
    Tool.DCGM_DIAG: dcgm_diag.parse,
    Tool.NVIDIA_SMI: nvidia_smi.parse,
    Tool.NVLINK: nvlink.parse,
    Tool.NVBANDWIDTH: nvbandwidth.parse,
    Tool.GPU_BURN: gpu_burn.parse,
    Tool.PERFTEST: perftest.parse,
    Tool.IBDIAGNET: ibdiagnet.parse,
    Tool.IBLINKINFO: iblinkinfo.parse,
    Tool.ETHTOOL: ethtool.parse,
    Tool.LSPCI: lspci.parse,
    Tool.DMESG: dmesg.parse,
    Tool.COUNTERS: counters.parse,
    Tool.NCCL_LOG: nccl_log.parse,
}

_PLAIN = frozenset({Tool.DMESG, Tool.NCCL_LOG})
"""Tools whose output is text and nothing else: no part of it stands for another character."""
VERSIONS: Mapping[Tool, int] = {**dict.fromkeys(PARSERS, 1), Tool.NVBANDWIDTH: 2}
"""Raised where a parser reads something else out of an output than it did; measurements name it."""


def parse(tool: Tool, output: str | Iterable[str]) -> Parsed:
    """What a tool's output says; never raises.

    Args:
        tool: that wrote it.
        output: all of it, or parts that follow one another; of `LOGS` one part is held at a time.
    """
    looked = output if isinstance(output, str) else _Looked(output)
    log = LOGS.get(tool)
    try:
        parsed = log(looked) if log else PARSERS[tool](looked if isinstance(looked, str) else whole(looked))
    except Unread as unread:
        return unread.parsed
    halves = _may_have_half(looked) if isinstance(looked, str) else looked.halves
    return _writable(parsed) if halves and tool not in _PLAIN else parsed


class _Looked:
    """The parts of an output, and whether those that were read have half a character."""

    def __init__(self, parts: Iterable[str]) -> None:
        self._parts = parts
        self.halves = False

    def __iter__(self) -> Iterator[str]:
        last = ""
        for part in self._parts:
            self.halves = self.halves or _may_have_half(last + part[:1]) or _may_have_half(part)
            last = part[-1:] or last
            yield part


def _may_have_half(text: str) -> bool:
    """Whether half a character is in it, or anything that JSON spells, which may be one."""
    if r"\u" in text:
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _writable(parsed: Parsed) -> Parsed:
    """The same where it can be written down: JSON may spell half a character, which no file holds."""
    try:
        parsed.problem.encode()
        for reading in parsed.readings:
            reading.model_dump_json()
    except ValueError:
        problem = "half a character (a lone surrogate) stands in it, which is no text"
        return Parsed(status=Completeness.CORRUPT, problem=problem)
    return parsed
