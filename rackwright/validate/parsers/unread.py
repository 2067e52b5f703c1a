"""How a parser says that it did not understand: one exception, turned into a `Parsed` at its edge."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from rackwright.validate.model import Completeness, Parsed, Reading
from rackwright.validate.parsers.core.unreadable import CRUMBS, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Output = TypeVar("Output")
_ENDLESS = re.compile(r"[0-9]{60}")
_SECRET = re.compile(
    r"(\w*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)\w*)[\"']?\s*[=:]\s*\S.*", re.IGNORECASE
)
"""What stands after such a name to the end of the problem."""
_LONGEST_PROBLEM = 600
"""Characters of what is quoted for a reader."""
MOST_CHARACTERS = 16 * 2**20
"""Longer than any output of a tool here; what is longer is not read."""


LONGEST_ROW = 4096
"""Characters."""
_MOST_ERRORS = 100
SHORTEST_LINE = 10
"""Characters on the average of a long output; a list of shorter lines takes many times their memory."""


class Unread(Exception):
    """An output, or a part of it, that is not used."""

    def __init__(self, status: Completeness, problem: str) -> None:
        super().__init__(problem)
        self.parsed = Parsed(status=status, problem=problem)


def corrupt(problem: str) -> Unread:
    """Not what the tool writes."""
    return Unread(Completeness.CORRUPT, problem)


def incomplete(problem: str) -> Unread:
    """Cut off, or a part of it is missing."""
    return Unread(Completeness.INCOMPLETE, problem)


def not_run(problem: str) -> Unread:
    """The tool says that it did not measure."""
    return Unread(Completeness.NOT_RUN, problem)


def strict(read: Callable[[str], Iterable[Reading]]) -> Callable[[str], Parsed]:
    """A parser of a function that gives all readings of an output, or raises `Unread`."""

    def checked(text: str) -> Iterable[Reading]:
        _refuse_size(text)
        return read(text)

    return functools.wraps(read)(tolerant(checked))


def tolerant(read: Callable[[Output], Iterable[Reading]]) -> Callable[[Output], Parsed]:
    """As `strict`, of an output in whatever form it comes and of any length."""

    @functools.wraps(read)
    def parse(output: Output) -> Parsed:
        try:
            readings = tuple(read(output))
        except Unread as unread:
            return _redacted(unread.parsed)
        except Unreadable as error:
            return _redacted(Parsed(status=Completeness(error.kind), problem=error.problem))
        except OverflowError:
            return corrupt("a number is greater than any that is measured").parsed
        if not readings:
            return incomplete("nothing was measured").parsed
        return Parsed(status=Completeness.COMPLETE, readings=readings)

    return parse


def _redacted(parsed: Parsed) -> Parsed:
    """Without values of an environment that was dumped into the output and is quoted as not understood."""
    shown = parsed.problem[:_LONGEST_PROBLEM]
    return parsed.model_copy(update={"problem": _SECRET.sub(r"\1=…", shown)})


def whole(parts: Iterable[str]) -> str:
    """The text that parts make up, as long as it may be.

    Raises:
        Unread: it is longer than any output that is read as a whole.
    """
    found: list[str] = []
    length = 0
    for part in parts:
        found.append(part)
        length += len(part)
        if length > MOST_CHARACTERS:
            raise corrupt(f"more than {MOST_CHARACTERS} characters: longer than any output of this tool")
    text = "".join(found)
    if _ENDLESS.search(text):
        raise corrupt("a number of more digits than any that is measured")
    return text


def lines_of(text: str) -> Iterator[str]:
    """Line by line, without ends, none of them held: a list of short lines is twenty times their text."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    if start < len(text):
        yield text[start:]


def refuse_long(lines: Iterable[str]) -> None:
    """Refuse a line that is longer than a row of any table: as cells it would take many times its memory."""
    if any(len(line) > LONGEST_ROW for line in lines):
        raise corrupt(f"a line of more than {LONGEST_ROW} characters")


def _refuse_size(text: str) -> None:
    if not text.strip():
        raise incomplete("the output is empty")
    whole([text])
    if len(text) > CRUMBS and text.count("\n") * SHORTEST_LINE > len(text):
        raise corrupt("lines that are shorter than those of any tool")


def misfit(error: ValidationError, what: str) -> Unread:
    """Corrupt, by the first value that is not what its model says; of very many by their number."""
    if error.error_count() > _MOST_ERRORS:  # each would be written out, and takes hundreds of times its text
        return corrupt(f"{what}: {error.error_count()} values are not what they should be")
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    return corrupt(f"{what}: {key or 'value'}: {first['msg']}")


def agree(measured: float, computed: float, what: str, tolerance: float = 0.02) -> None:
    """Refuse an output whose figures contradict one another.

    Raises:
        Unread: they differ by more than a share of the greater, 2 % unless said otherwise.
    """
    if abs(measured - computed) > tolerance * max(abs(measured), abs(computed)):
        raise corrupt(f"{what} is {measured:g}, but follows from the rest as {computed:g}")
