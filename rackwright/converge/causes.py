"""A task's raw result in, its cause in one line out; nobody is shown an Ansible dictionary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, TypeAdapter

from rackwright import strict_yaml
from rackwright.converge.model import Status
from rackwright.spec.base import Model

_TABLE = Path(__file__).with_name("causes.yaml")
_LONGEST = 240
"""Of a message, characters; the artefacts have it whole."""
_FIELDS = ("msg", "stderr", "module_stderr", "stdout", "module_stdout", "exception", "reason")
"""Of a result, the most telling first."""
_EMPTY_WORDS = re.compile(
    r"^(non-zero return code|MODULE FAILURE.*|One or more items failed|All items completed|"
    r"Module result deserialization failed.*|Task failed: Module failed: ?)$",
    re.DOTALL,
)
"""Messages that say no more than that the task failed."""


class Known(Model):
    """One entry of the table."""

    pattern: str
    cause: str
    hint: str = ""
    status: Literal["failed"] | None = Field(default=None)


class Cause(Model):
    """Why a task failed on a host."""

    message: str
    hint: str
    status: Status


@cache
def table() -> tuple[tuple[re.Pattern[str], Known], ...]:
    """The entries of `causes.yaml`, in their order."""
    entries = TypeAdapter(list[Known]).validate_python(strict_yaml.load(_TABLE.read_text(encoding="utf-8")))
    return tuple((re.compile(entry.pattern), entry) for entry in entries)


def cause(result: object, status: Status) -> Cause:
    """What a failed task's result says.

    Args:
        result: as the runner's event has it (``event_data.res``): never trusted to have any form.
        status: what Ansible makes of it, failed or unreachable.
    """
    texts = list(_texts(result))
    for pattern, known in table():
        if match := next(filter(None, map(pattern.search, texts)), None):
            groups = {name: text or "" for name, text in match.groupdict().items()}
            return Cause(
                message=known.cause.format_map(groups),
                hint=known.hint,
                status=Status(known.status) if known.status else status,
            )
    telling = (line for text in texts if (line := _telling(text)))
    return Cause(message=next(telling, "the task failed and gave no reason"), hint="", status=status)


def _texts(result: object) -> Iterator[str]:
    """Every text that may hold the cause; of a loop, those of the items that failed."""
    if not isinstance(result, Mapping):
        if result:
            yield str(result)
        return
    if "censored" in result:
        yield "hidden, for the task may hold a secret (no_log)"
        return
    for item in _failed_items(result.get("results")):
        yield from _texts(item)
    for field in _FIELDS:
        text = result.get(field)
        if isinstance(text, str) and text.strip():
            yield text


def _failed_items(results: object) -> Iterator[object]:
    if isinstance(results, Sequence) and not isinstance(results, str):
        for item in results:
            if isinstance(item, Mapping) and (item.get("failed") or item.get("unreachable")):
                yield item


def _telling(text: str) -> str:
    """The line that says most: a message as it is, of a traceback or a program's output the last line."""
    if _EMPTY_WORDS.match(text.strip()):
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    is_output = len(lines) > 1 and any(line.startswith("Traceback") for line in lines)
    return _short(lines[-1] if is_output else " ".join(lines))


def _short(text: str) -> str:
    """As much as a line can bear, nothing of it for a terminal to obey."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"
