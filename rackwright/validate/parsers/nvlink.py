"""Output of ``nvidia-smi nvlink --status``: whether each link of each GPU is active.

A diagnosis of DCGM has passed with all of them down (NVIDIA/DCGM#198). Nothing in the output says how many
GPUs or links there are: GPUs are held against the plan, and each of them has as many links as the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.sealing import body_of
from rackwright.validate.parsers.unread import corrupt, incomplete, not_run, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_GPU = re.compile(r"GPU (\d{1,3}): .+ \(UUID: GPU-[0-9a-f-]{1,64}\)")
_LINK = re.compile(r"\s+Link (\d{1,3}): (?:(\d{1,4}\.\d{1,6}) GB/s|<inactive>)")
_ALL_DOWN = re.compile(r"NVML: ?Unable to retrieve N[vV][lL]ink information as all links are in[aA]ctive")
_MESSAGES = re.compile(r"No devices were found|NVIDIA-SMI has failed.*|Failed to initialize.*")


@dataclass
class _Gpu:
    """One GPU: links that are active, and that are not; None where it only says that none is active."""

    active: list[float] = field(default_factory=list)
    inactive: int | None = 0

    @property
    def links(self) -> int | None:
        return None if self.inactive is None else len(self.active) + self.inactive


@strict
def parse(text: str) -> Iterator[Reading]:
    """Of each GPU whether all of its links are up; how many GPUs there are."""
    body = body_of(text)
    if message := next((line for line in body.lines if _MESSAGES.fullmatch(line)), ""):
        raise not_run(message)
    gpus: list[_Gpu] = []
    for number, line in enumerate(body.lines, 1):
        _take(line, number, gpus)
    counts = {gpu.links for gpu in gpus} - {None}
    if len(counts) > 1 or 0 in counts:
        raise incomplete("some GPUs have fewer links than others, or none that it tells of")
    for index, gpu in enumerate(gpus):
        about = Context(parameters={"gpu": index, "active": len(gpu.active)})
        yield Reading(name="nvlinks_up", value=gpu.inactive == 0, unit=Unit.YES_NO, context=about)
        if gpu.active:
            rate = min(gpu.active)
            yield Reading(name="nvlink_rate", value=rate, unit=Unit.GB_S, context=about)
    yield Reading(name="nvlink_gpus", value=len(gpus), unit=Unit.COUNT)
    yield body.reading()


def _take(line: str, number: int, gpus: list[_Gpu]) -> None:
    if (head := _GPU.fullmatch(line)) is not None:
        if int(head[1]) != len(gpus):
            raise corrupt("GPUs are not numbered from 0 on")
        gpus.append(_Gpu())
        return
    gpu = gpus[-1] if gpus else None
    if gpu is not None and gpu.links == 0 and _ALL_DOWN.fullmatch(line.strip()):
        gpu.inactive = None
    elif gpu is not None and gpu.links is not None and (link := _LINK.fullmatch(line)) is not None:
        if int(link[1]) != gpu.links:
            raise corrupt(f"line {number}: links of GPU {len(gpus) - 1} are not numbered from 0 on")
        if link[2]:
            gpu.active.append(float(link[2]))
        else:
            gpu.inactive = (gpu.inactive or 0) + 1
    else:
        raise corrupt(f"line {number} is not understood: {line[:80]!r}")
