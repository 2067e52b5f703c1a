"""A log of any length: blocks of its text in, blocks of whole lines out, no more than one of them at a time.

Its seal (`sealing`) is the last line, so the last line is held back until there is no more.
"""

from __future__ import annotations

import codecs
import functools
import zlib
from typing import TYPE_CHECKING, Protocol

from rackwright.validate.model import Reading, Unit
from rackwright.validate.parsers.core.unreadable import Unreadable
from rackwright.validate.parsers.sealing import MARK, SEAL
from rackwright.validate.parsers.unread import Unread, corrupt, incomplete, tolerant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rackwright.validate.model import Parsed

BLOCK = 2**17
"""Characters that are read at once; of short lines a list takes twenty times their memory."""
LONGEST_LINE = 2**20
"""Longer than a line of any log; it would have to be held as a whole."""


class Readable(Protocol):
    """What bytes come from."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, none at the end."""
        ...


def parts(raw: Readable) -> Iterator[str]:
    """Text of a file, a part at a time, with its line ends as they are; what is no UTF-8 is replaced."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    while block := raw.read(BLOCK):
        yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


class Flow:
    """One log, to be gone through once.

    Args:
        text: all of it, or parts that follow one another.
    """

    def __init__(self, text: str | Iterable[str]) -> None:
        self._parts = _slices(text) if isinstance(text, str) else iter(text)
        self._lines = self._crc = 0
        self.empty = True
        """Whether there was nothing but space so far."""
        self.sealed = False
        """Whether it was found to end with a seal that fits; known once it was gone through."""

    def blocks(self) -> Iterator[str]:
        """Whole lines, many at a time, without the seal.

        Raises:
            Unread: it has a seal, or a part of one, that does not fit it; a line is endless.
        """
        held = ""
        for part in self._parts:
            held += part
            self.empty = self.empty and not part.strip()
            end = held.rfind("\n", 0, max(held.rfind("\n"), 0)) + 1
            if end:
                yield self._passed(held[:end])
                held = held[end:]
            if len(held) > LONGEST_LINE:
                raise corrupt(f"a line of more than {LONGEST_LINE} characters")
        if MARK not in held:
            yield from [held] if held else []
            return
        before, mark, rest = held.partition(MARK)
        self._check_seal(self._passed(before) if before else before, mark + rest)
        if before:
            yield before

    def reading(self) -> Reading:
        """Whether it was sealed, once it was gone through."""
        return Reading(name="sealed", value=self.sealed, unit=Unit.YES_NO)

    def _passed(self, block: str) -> str:
        if MARK in block:
            raise corrupt("the end of an output stands within it")
        self._lines += block.count("\n")
        self._crc = zlib.crc32(block.encode(errors="replace"), self._crc)
        return block

    def _check_seal(self, before: str, last: str) -> None:
        found = SEAL.fullmatch(last)
        whole = not before or before.endswith("\n")
        if found is None or not whole or (int(found[1]), int(found[2])) != (self._lines, self._crc):
            raise corrupt("its last line does not fit it: something was cut off or changed")
        self.sealed = True


def log(read: Callable[[Flow], Iterable[Reading]]) -> Callable[[str | Iterable[str]], Parsed]:
    """A parser of logs of any length, of a function that gives all readings of one, or raises `Unread`."""

    def checked(text: str | Iterable[str]) -> Iterable[Reading]:
        flow = Flow(text)
        try:
            return tuple(read(flow))
        except (Unread, Unreadable):
            if flow.empty:
                raise incomplete("the output is empty") from None
            raise

    return functools.wraps(read)(tolerant(checked))


def _slices(text: str) -> Iterator[str]:
    return (text[start : start + BLOCK] for start in range(0, len(text), BLOCK))
