"""Output of gpu-burn: whether each GPU calculated right, how fast, and how warm it became.

It ends with status 0 also where a GPU is faulty, and may test fewer GPUs than it found; both are held
against its own list. Progress is overwritten by carriage returns; the last of it counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.unread import corrupt, incomplete, not_run, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOUND = re.compile(r"(?m)^GPU (\d+): .+\(UUID: GPU-[0-9a-f-]+\)$")
_TESTED = re.compile(r"(?ms)^Tested (\d+) GPUs:\n(.*)\Z")
_RESULT = re.compile(r"\tGPU (\d+): (OK|FAULTY)")
_PROGRESS = re.compile(r"(\d+\.\d)% +proc'd: (.+?) +errors: (.+?) +temps: (.+?) *")
_SPEED = re.compile(r"\d+ \((\d+) Gflop/s\)")
_ERRORS = re.compile(r"(\d+)(?: +\((?:WARNING!|DIED!)\))?")
_TEMPERATURE = re.compile(r"(\d+) C|--")
_WHOLE = 100.0


@strict
def parse(text: str) -> Iterator[Reading]:
    """Of each GPU: faulty or not, errors, GFLOP/s, °C."""
    if "No clients are alive" in text or "Couldn't init" in text:
        raise not_run("no GPU could be tested to the end")
    found = [int(one) for one in _FOUND.findall(text)]
    results = _results(text)
    if sorted(results) != found or found != list(range(len(found))) or not found:
        raise incomplete(f"{len(found)} GPUs were found and {len(results)} tested")
    speeds, errors, temperatures = _progress(text, len(found))
    for gpu in found:
        if errors[gpu] and not results[gpu]:
            raise corrupt(f"GPU {gpu} is OK with {errors[gpu]} errors")
        context = Context(parameters={"gpu": gpu})
        yield Reading(name="faulty", value=results[gpu], unit=Unit.YES_NO, context=context)
        yield Reading(name="errors", value=errors[gpu], unit=Unit.COUNT, context=context)
        yield Reading(name="gflops", value=speeds[gpu], unit=Unit.GFLOPS, context=context)
        if temperatures[gpu] is not None:
            value = temperatures[gpu] or 0
            yield Reading(name="temperature", value=value, unit=Unit.CELSIUS, context=context)


def _results(text: str) -> dict[int, bool]:
    """GPU → whether it is faulty."""
    tested = _TESTED.search(text)
    if tested is None or not text.endswith("\n"):
        raise incomplete("no list of tested GPUs at the end")
    known: dict[int, bool] = {}
    for line in filter(str.strip, tested[2].splitlines()):
        row = _RESULT.fullmatch(line)
        if row is None or int(row[1]) in known:
            raise corrupt("the list of tested GPUs is not understood")
        known[int(row[1])] = row[2] == "FAULTY"
    if len(known) != int(tested[1]):
        raise incomplete(f"{len(known)} results for {tested[1]} tested GPUs")
    return known


def _progress(text: str, gpus: int) -> tuple[list[int], list[int], list[int | None]]:
    """Speeds, errors and temperatures of the last word on progress."""
    lines = [line.strip() for line in re.split(r"[\r\n]", text) if "proc'd" in line]
    last = _PROGRESS.fullmatch(lines[-1]) if lines else None
    if last is None:
        raise incomplete("no progress is shown to its end")
    if float(last[1]) < _WHOLE:
        raise incomplete(f"it ended at {last[1]} %")
    parts = [re.split(r" +- +", part) for part in last.groups()[1:]]
    if any(len(part) != gpus for part in parts):
        raise incomplete(f"progress does not tell of {gpus} GPUs")
    speeds, errors, temperatures = parts
    return (
        [int(_one(_SPEED, word)) for word in speeds],
        [int(_one(_ERRORS, word)) for word in errors],
        [int(found) if (found := _one(_TEMPERATURE, word)) else None for word in temperatures],
    )


def _one(form: re.Pattern[str], word: str) -> str:
    found = form.fullmatch(word.strip())
    if found is None:
        raise corrupt(f"{word[:40]!r} in the progress is not understood")
    return found[1] or ""
