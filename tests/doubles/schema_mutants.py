"""Mutants of an output by rule: what its schema has, dropped, flipped, renamed, altered, doubled or cut.

Each rule is a class of mutants (`Kind`); a rule that finds nothing to change in a format makes none.
"""

from __future__ import annotations

import copy
import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rackwright.validate.model import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MOST = 150
"""Mutants of a class and text, spread evenly over it."""
SUBJECT: Mapping[Tool, str] = {
    Tool.NCCL_TESTS: r"# +Rank +(\d+) ",
    Tool.RCCL_TESTS: r"# +Rank +(\d+) ",
    Tool.NVIDIA_SMI: r"^(\d+), ",
    Tool.GPU_BURN: r"GPU (\d+)",
    Tool.NVBANDWIDTH: r"Device (\d+)|^ *(\d+) +(?:N/A|\d+\.\d+) ",
    Tool.NCCL_LOG: r"rank (\d+) nranks|^([\w-]+):\d+",
    Tool.ETHTOOL: r"Settings for (\S+):",
    Tool.IBLINKINFO: r'==>.*"(\S+)',
    Tool.IBDIAGNET: r"^0x\w+,(0x\w+),",
    Tool.LSPCI: r"^(\S+:\S+\.\d) ",
    Tool.DMESG: r"NVRM: Xid \((\S+)\)",
    Tool.PERFTEST: r"^ *(\d+) +\d+ ",
    Tool.NCCOM_TEST: r"^ *(\d+) +\d+ ",
}
"""How a line of a format names the rank, GPU, port or size it is about; in documents these are elements."""
OPPOSITES = (
    *(("OK", "FAILED"), ("Pass", "Fail"), ("PASS", "FAIL"), ("Passed", "Error"), ("Active", "Not Active")),
    *(("Yes", "No"), ("yes", "no"), ("true", "false"), ("Enabled", "Disabled"), ("Full", "Half")),
    *(("LinkUp", "Polling"), ("FAULTY", "OK"), ("available", "not available"), ("None", "Reset")),
    *(("passed", "failed"), ("ACTIVE", "DOWN"), ("up", "down"), ("Fatal", "Nonfatal"), ("ok", "downgraded")),
)
UNITS = (
    *(("GB/s", "MB/s"), ("(us)", "(ms)"), ("(B)", "(KB)"), ("Gb/sec", "MB/sec"), ("MiB/sec", "Gb/sec")),
    *(("usec", "msec"), ("Mb/s", "Gb/s"), ("Gbps", "Mbps"), ("GT/s", "MT/s"), ("Gflop/s", "Tflop/s")),
    *((" W", " kW"), ("MiB", "GiB"), (" C", " F"), ("[W]", "[mW]"), ("Mpps", "Kpps"), ("elements", "bytes")),
)
Document: TypeAlias = "dict[str, object]"


class Kind(StrEnum):
    """A rule."""

    EMPTY = "empty"
    SUBJECT_DROPPED = "rank, GPU or element dropped"
    STATUS = "status flipped"
    RENAMED = "key renamed"
    DROPPED = "key dropped"
    UNIT = "unit changed"
    NUMBER = "number altered"
    LINE_GONE = "line cut out"
    TRUNCATED = "truncated at a line"
    TRUNCATED_WITHIN = "truncated within a line"
    DOUBLED = "row doubled"
    MIXED = "two rows in one line"


class Mutant(NamedTuple):
    """One spoiled output."""

    kind: Kind
    name: str
    text: str


def of(tool: Tool, text: str) -> Iterator[Mutant]:
    """All mutants of an output that differ from it."""
    document = _document(text)
    makers = [_of_lines(text), _of_words(text)]
    makers += [_of_document(*document)] if document else [_of_subjects(tool, text), _of_names(text)]
    yield Mutant(Kind.EMPTY, "empty", "")
    seen = {text, ""}
    for maker in makers:
        for mutant in maker:
            if mutant.text not in seen:
                seen.add(mutant.text)
                yield mutant


def _document(text: str) -> tuple[str, Document] | None:
    """What stands before the one JSON document of a text, and the document; None where there is none."""
    head, brace, rest = text.partition("{")
    try:
        return head, json.loads(brace + rest)
    except ValueError:
        return None


def _spread(found: list[re.Match[str]]) -> list[re.Match[str]]:
    return found[:: max(len(found) // MOST, 1)]


def _of_lines(text: str) -> Iterator[Mutant]:
    lines = text.splitlines(keepends=True)
    for number in range(0, len(lines), max(len(lines) // MOST, 1)):
        line, after = lines[number], lines[number + 1 :]
        before, half = lines[:number], len(line) // 2
        yield Mutant(Kind.TRUNCATED, f"after line {number}", "".join(before))
        yield Mutant(Kind.TRUNCATED_WITHIN, f"within line {number + 1}", "".join([*before, line[:half]]))
        yield Mutant(Kind.LINE_GONE, f"without line {number + 1}", "".join(before + after))
        if line.strip():
            yield Mutant(Kind.DOUBLED, f"line {number + 1} twice", "".join([*before, line, line, *after]))
        if after and line.strip() and after[0].strip():
            mixed = line[:half] + after[0].rstrip("\n") + line[half:]
            yield Mutant(
                Kind.MIXED, f"lines {number + 1} and {number + 2}", "".join([*before, mixed, *after[1:]])
            )


def _of_words(text: str) -> Iterator[Mutant]:
    for one, other in (*OPPOSITES, *((other, one) for one, other in OPPOSITES)):
        for found in _spread(list(re.finditer(rf"(?<![A-Za-z]){re.escape(one)}(?![A-Za-z])", text))):
            yield Mutant(Kind.STATUS, f"{one} at {found.start()}", _put(text, found, other))
    for one, other in UNITS:
        for found in _spread(list(re.finditer(re.escape(one), text))):
            yield Mutant(Kind.UNIT, f"{one} at {found.start()}", _put(text, found, other))
    for found in _spread(list(re.finditer(r"(?<![\w.])\d+(?:\.\d+)?", text))):
        yield Mutant(Kind.NUMBER, f"{found[0]} at {found.start()}", _put(text, found, _altered(found[0])))


def _put(text: str, found: re.Match[str], other: str) -> str:
    return text[: found.start()] + other + text[found.end() :]


def _altered(number: str) -> str:
    """Another number of the same form: twice as great, and one more."""
    whole, point, rest = number.partition(".")
    return f"{int(whole) * 2 + 1}{point}{rest}"


def _of_subjects(tool: Tool, text: str) -> Iterator[Mutant]:
    if tool not in SUBJECT:
        return
    form, lines = re.compile(SUBJECT[tool]), text.splitlines(keepends=True)
    names = {name: None for line in lines for found in form.finditer(line) for name in found.groups() if name}
    for name in names:
        left = [line for line in lines if not any(name in found.groups() for found in form.finditer(line))]
        yield Mutant(Kind.SUBJECT_DROPPED, name, "".join(left))


def _of_names(text: str) -> Iterator[Mutant]:
    """Words are keys here, wherever they stand."""
    words = dict.fromkeys(re.findall(r"[A-Za-z][A-Za-z_#%.-]{2,}", text))
    for word in list(words)[:: max(len(words) // MOST, 1)]:
        yield Mutant(
            Kind.RENAMED, word, re.sub(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z])", f"{word}x", text)
        )
        yield Mutant(Kind.DROPPED, word, re.sub(rf"(?<![A-Za-z]){re.escape(word)}(?![A-Za-z]):? ?", "", text))


def _of_document(head: str, document: Document) -> Iterator[Mutant]:
    paths = list(_paths(document))
    for path in paths[:: max(len(paths) // (MOST * 4), 1)]:
        name, last = ".".join(map(str, path)), path[-1]
        changes: list[tuple[Kind, Callable[[object], None]]] = []
        if isinstance(last, str):
            changes = [(Kind.DROPPED, lambda at: at.pop(last)), (Kind.RENAMED, lambda at: _rename(at, last))]  # type: ignore[attr-defined]  # noqa: B023 (called within the loop)
        else:
            changes = [
                (Kind.SUBJECT_DROPPED, lambda at: at.pop(last)),  # type: ignore[attr-defined]  # noqa: B023 (as above)
                (Kind.DOUBLED, lambda at: at.insert(last, copy.deepcopy(at[last]))),  # type: ignore[attr-defined, index]  # noqa: B023 (as above)
            ]
        for kind, change in changes:
            mutant = copy.deepcopy(document)
            change(_at(mutant, path[:-1]))
            yield Mutant(kind, name, head + json.dumps(mutant))


def _rename(at: object, key: str) -> None:
    assert isinstance(at, dict)
    at[f"{key}-of-old"] = at.pop(key)


def _paths(value: object, here: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield (*here, key)
        yield from _paths(child, (*here, key))


def _at(document: object, path: tuple[str | int, ...]) -> object:
    for key in path:
        document = document[key]  # type: ignore[index]  # (whatever it is, it has it)
    return document
