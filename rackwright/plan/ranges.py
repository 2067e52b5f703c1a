"""Numbers as spans: ``1-96``, and ``1-25/8`` for 1, 9, 17, 25, as ClusterShell writes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SPAN = re.compile(r"(0|[1-9]\d{0,9})(?:-([1-9]\d{0,9})(?:/([1-9]\d{0,9}))?)?")


@dataclass(frozen=True, slots=True)
class Span:
    """Equally spaced numbers, rising."""

    first: int
    count: int = 1
    step: int = 1

    @classmethod
    def parse(cls, text: str) -> Span:
        """The span a text means.

        Raises:
            ValueError: not one number, ``first-last`` or ``first-last/step`` in its shortest form.
        """
        match = _SPAN.fullmatch(text)
        if match is None:
            msg = f"{text!r} is no span"
            raise ValueError(msg)
        first, last, step = (int(group) if group else None for group in match.groups())
        span = cls(first or 0)
        if last is not None:
            span = cls(span.first, (last - span.first) // (step or 1) + 1, step or 1)
        if span.count < 1 or str(span) != text:
            msg = f"{text!r} is no span in its shortest form"
            raise ValueError(msg)
        return span

    @property
    def last(self) -> int:
        """The highest number."""
        return self.first + (self.count - 1) * self.step

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1, self.step))

    def __str__(self) -> str:
        if self.count == 1:
            return str(self.first)
        return f"{self.first}-{self.last}" + (f"/{self.step}" if self.step != 1 else "")


def pair_up(pairs: Iterable[tuple[int, int]]) -> Iterator[tuple[Span, Span]]:
    """Fold a rising map of numbers into spans of keys, step 1, that run along spans of values.

    Greedy from the left; the second key of a span fixes the step of its values, which is
    positive. Spans iterated pairwise give the pairs back.
    """
    run: list[tuple[int, int]] = []
    for key, value in pairs:
        if run and not _continues(run, key, value):
            yield _spans(run)
            run = []
        run.append((key, value))
    if run:
        yield _spans(run)


def _continues(run: list[tuple[int, int]], key: int, value: int) -> bool:
    last_key, last_value = run[-1]
    step = value - last_value
    return key == last_key + 1 and step > 0 and (len(run) == 1 or step == last_value - run[-2][1])


def _spans(run: list[tuple[int, int]]) -> tuple[Span, Span]:
    (first_key, first_value), (_, last_value) = run[0], run[-1]
    step = (last_value - first_value) // (len(run) - 1) if len(run) > 1 else 1
    return Span(first_key, len(run)), Span(first_value, len(run), step)


def fold(numbers: Iterable[int]) -> str:
    """Rising numbers as comma-separated spans of step 1: ``1-4,6-127``."""
    return ",".join(str(keys) for keys, _ in pair_up((number, number) for number in numbers))
