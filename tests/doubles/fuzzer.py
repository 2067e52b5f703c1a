"""A fuzzer of parsers: outputs of all cases spoiled at random, guided by which answers are new.

    nice -n 19 .venv/bin/python -m tests.doubles.fuzzer --seconds 3600 --findings FOLDER

An answer is new where its tool never gave that problem, numbers and quoted words aside; the text that brought
it is spoiled further. What counts as a fault: an exception, a parse of more than `SECONDS` of processor
time, more memory than `TIMES` the text and what was read of it, a complete answer to garbage, or an answer
that is complete without a reading or has readings without being complete.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import time
import tracemalloc
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.validate.model import Completeness
from rackwright.validate.parsers.table import PARSERS, parse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from rackwright.validate.model import Parsed, Tool

CASES = Path(__file__).parents[1] / "cases"
SECONDS = 5.0
"""Of processor time for a text of at most `LONGEST` characters."""
LONGEST = 400_000
TIMES, LEAST = 10, 2**20
"""Memory: so many times the text and its readings as JSON, and a mebibyte that any parser may take."""
MEASURED = 25
"""Every so manyth parse has its memory measured, and each of a long text: measuring is slow."""
HANG_S = 120
FIRST = 12
"""Texts of a pool that are cases, more or less."""
WORDS = (
    *("nan", "inf", "1e309", "-1", "0", "9" * 40, "N/A", "[N/A]", "OK", "PASS", "FAILED", "true", "null"),
    *(
        "\x00",
        "\ufffd",
        "é",
        '"',
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "#",
        "\r",
        "\n",
        "\t",
        " ",
        "GPU",
        "NCCL",
        "Xid",
    ),
)
"""What is strewn in."""


class Hang(Exception):
    """A parse that does not end."""


@dataclass
class Findings:
    """What a run of the fuzzer brought.

    Args:
        parses: how many, by tool.
        complete: how many of them were complete.
        answers: (tool, shape of the problem) → the shortest text that brought it.
        faults: what must not be, with the text.
    """

    parses: Counter[str] = field(default_factory=Counter)
    complete: Counter[str] = field(default_factory=Counter)
    answers: dict[tuple[Tool, str], str] = field(default_factory=dict)
    faults: list[tuple[Tool, str, str]] = field(default_factory=list)


def texts_of(tool: Tool) -> list[str]:
    """Inputs of the cases of a tool."""
    return [
        (case / "input.txt").read_text(encoding="utf-8")
        for case in sorted((CASES / tool).iterdir())
        if case.is_dir()
    ]


def fuzz(seconds: float, seed: int, tools: tuple[Tool, ...] = tuple(PARSERS)) -> Findings:
    """Spoil outputs of these tools in turn for a time."""
    chance, findings = random.Random(seed), Findings()  # noqa: S311 (chance, no secret)
    pools = {tool: texts_of(tool) for tool in tools}
    everything = [text for pool in pools.values() for text in pool]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for tool in tools:
            garbage = chance.random() < 0.1
            text = _garbage(chance) if garbage else _spoiled(chance, pools[tool], everything)
            parsed = _parse(findings, tool, text[:LONGEST], garbage=garbage)
            if parsed is not None and _is_new(findings, tool, parsed, text[:LONGEST]):
                pools[tool].append(text[:LONGEST])
    return findings


def _is_new(findings: Findings, tool: Tool, parsed: Parsed, text: str) -> bool:
    key = tool, shape(parsed)
    known = findings.answers.get(key)
    if known is None or len(text) < len(known):
        findings.answers[key] = text
    return known is None


def shape(parsed: Parsed) -> str:
    """An answer without what differs from text to text."""
    return (
        f"{parsed.status}: "
        + re.sub(r"'[^']*'|\"[^\"]*\"|[\w.:-]*\d[\w.:-]*", "?", parsed.problem[:200])[:60]
    )


def _garbage(chance: random.Random) -> str:
    """No output of anything."""
    kind = chance.randrange(3)
    if kind == 0:
        return "".join(map(chr, chance.choices(range(1, 0x250), k=chance.randrange(2000))))
    if kind == 1:
        return " ".join(chance.choices(WORDS, k=chance.randrange(400)))
    return chance.choice(WORDS) * chance.randrange(1, 20_000)


def _spoiled(chance: random.Random, pool: list[str], everything: list[str]) -> str:
    """One of the first or one of the latest, for what is new is rarely whole any more."""
    text = chance.choice(pool if chance.randrange(2) else pool[:FIRST])
    for _ in range(chance.randrange(1, 6)):
        text = chance.choice(_WAYS)(chance, text, everything)[:LONGEST]
    return text


def _overwrite(chance: random.Random, text: str, _: list[str]) -> str:
    start = chance.randrange(len(text) + 1)
    return text[:start] + chance.choice(WORDS) + text[start + chance.randrange(12) :]


def _cut(chance: random.Random, text: str, _: list[str]) -> str:
    start = chance.randrange(len(text) + 1)
    return text[:start] if chance.randrange(2) else text[:start] + text[start + chance.randrange(200) :]


def _lines(chance: random.Random, text: str, _: list[str]) -> str:
    """Lines in another order, twice, or gone."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return text
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    way = chance.randrange(4)
    if way == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif way == 1:
        lines.insert(other, lines[one])
    elif way == 2:
        del lines[one]
    else:
        half = chance.randrange(len(lines[one]) + 1)
        lines[one] = lines[one][:half] + lines[other]
    return "".join(lines)


def _number(chance: random.Random, text: str, _: list[str]) -> str:
    found = list(re.finditer(r"\d+", text[: 2**14]))
    if not found:
        return text
    one = chance.choice(found)
    new = str(chance.choice((0, 1, -1, 2**31, 2**64, 10**18, int(one[0][:17]) + 1, int(one[0][:17]) * 2)))
    return text[: one.start()] + new + text[one.end() :]


def _graft(chance: random.Random, text: str, everything: list[str]) -> str:
    """A part of another output within."""
    other, place = chance.choice(everything), chance.randrange(len(text) + 1)
    start = chance.randrange(len(other) + 1)
    return text[:place] + other[start : start + chance.randrange(800)] + text[place:]


def _swell(chance: random.Random, text: str, _: list[str]) -> str:
    """A line, or a piece of one, many times: what takes time that grows faster than the text shows itself."""
    lines = text.splitlines(keepends=True) or [""]
    place = chance.randrange(len(lines))
    piece = lines[place] if chance.randrange(2) else lines[place][: chance.randrange(1, 20)]
    if chance.randrange(8):
        return text
    lines.insert(place, piece * min(chance.randrange(2, 5000), LONGEST // (len(piece) + 1)))
    return "".join(lines)


_WAYS = (_overwrite, _overwrite, _cut, _lines, _lines, _number, _number, _graft, _swell)


def _parse(findings: Findings, tool: Tool, text: str, *, garbage: bool) -> Parsed | None:
    """The answer, with what is wrong about it noted."""
    findings.parses[tool] += 1
    weighed = findings.parses[tool] % MEASURED == 0 or len(text) > LONGEST // 8
    try:
        with _bounded(), _weighed(weighed) as peak:
            started = time.process_time()
            parsed = parse(tool, text)
            took = time.process_time() - started
    except Exception as error:  # noqa: BLE001 (whatever it is, it is a fault)
        findings.faults.append((tool, f"{type(error).__name__}: {error}"[:200], text))
        return None
    findings.complete[tool] += parsed.status is Completeness.COMPLETE
    findings.faults += [(tool, fault, text) for fault in _faults(parsed, text, garbage=garbage)]
    if took > SECONDS:
        findings.faults.append((tool, f"{took:.1f} s for {len(text)} characters", text))
    allowed = LEAST + TIMES * (len(text) + _size(parsed))
    if peak and peak[0] > allowed:
        findings.faults.append((tool, f"{peak[0]} bytes for {len(text)} characters", text))
    return parsed


def _faults(parsed: Parsed, text: str, *, garbage: bool) -> Iterator[str]:
    complete = parsed.status is Completeness.COMPLETE
    if complete and garbage:
        yield f"complete: {text[:60]!r}"
    if bool(parsed.readings) is not complete or bool(parsed.problem) is complete:
        yield "complete without readings, or readings without being complete"


def _size(parsed: Parsed) -> int:
    return len(parsed.model_dump_json()) if parsed.readings else 0


@contextmanager
def _weighed(measured: bool) -> Iterator[list[int]]:  # noqa: FBT001 (the one thing it is told)
    """The most memory that was taken meanwhile, if it is measured."""
    peak: list[int] = []
    if not measured:
        yield peak
        return
    tracemalloc.start()
    try:
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


@contextmanager
def _bounded() -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        msg = f"no answer within {HANG_S} s"
        raise Hang(msg)

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def main() -> None:
    """Fuzz by hand: print what came of it, and write texts that matter into a folder."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--seconds", type=float, default=300)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--findings", type=Path, required=True)
    asked = options.parse_args()
    findings = fuzz(asked.seconds, asked.seed)
    asked.findings.mkdir(parents=True, exist_ok=True)
    for number, (tool, fault, text) in enumerate(findings.faults[:200]):
        (asked.findings / f"fault-{number:03d}-{tool}.txt").write_text(text, encoding="utf-8")
        print(f"{tool}: {fault}")  # noqa: T201 (said to who started it)
    for number, ((tool, _), text) in enumerate(sorted(findings.answers.items())):
        (asked.findings / f"answer-{number:04d}-{tool}.txt").write_text(text, encoding="utf-8")
    print(  # noqa: T201 (as above)
        f"{findings.parses.total():,} parses, {findings.complete.total():,} complete, "
        f"{len(findings.answers)} different answers, {len(findings.faults)} faults"
    )


if __name__ == "__main__":
    main()
