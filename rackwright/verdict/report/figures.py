"""Values in, words for a reader out: rounded, with units, without exponents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from math import floor, log10
from types import MappingProxyType

from rackwright.validate.model import Unit

UNITS = MappingProxyType(
    {
        Unit.MBIT_S: "Mbit/s",
        Unit.MIB_S: "MiB/s",
        Unit.GB_S: "GB/s",
        Unit.GBIT_S: "Gbit/s",
        Unit.GFLOPS: "GFLOP/s",
        Unit.SECONDS: "s",
        Unit.MICROSECONDS: "µs",
        Unit.BYTES: "B",
        Unit.COUNT: "",
        Unit.CELSIUS: "°C",
        Unit.OPS_S: "/s",
        Unit.SHA256: "",
        Unit.WORD: "",
        Unit.YES_NO: "",
    }
)
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")
_BINARY = 1024
_ABSURD = 1e18
_ALMOST = 0.9995
"""Rounded to three digits, this is one."""
_UNIT_NAMES = re.compile(r"(\d) (" + "|".join(Unit) + r")\b")
_GAP = "\N{NARROW NO-BREAK SPACE}"
_SPACE = "\N{NO-BREAK SPACE}"
Measured = bool | int | float | str
_NAMED = 8
_LONGEST = 200
"""Of a text within a table, characters; what is longer stands in the evidence."""


def number(value: float, digits: int = 3) -> str:
    """``1 234``, ``94.1``, ``0.000121``: rounded to so many digits, never to fewer than its integer.

    What has more than 18 digits before its point is nothing that was measured: ``1e+308``.
    """
    if not value:
        return "0"
    if not abs(value) < _ABSURD:
        return f"{value:.3g}"
    places = max(digits - 1 - floor(log10(abs(value))), 0)
    text = f"{round(Decimal(repr(value)), places):,f}".replace(",", _GAP)
    return text.rstrip("0").rstrip(".") if "." in text else text


def figure(value: Measured, unit: Unit | None, digits: int = 3) -> str:
    """A value with its unit: ``94.1 Mbit/s``, ``yes``, ``3f2a…``."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return clipped(value)
    word = UNITS[unit] if unit else ""
    return number(value, digits) + (f"{_SPACE}{word}" if word else "")


def size(count: float) -> str:
    """``64 KiB``; also of a size that three ranks could not share whole: 65,532 bytes."""
    power = 0
    while count >= _BINARY * _ALMOST and power < len(_SIZES) - 1:
        count /= _BINARY
        power += 1
    return f"{number(count)}{_SPACE}{_SIZES[power]}"


def spelled(text: str) -> str:
    """A text with units as a reader writes them: ``at least 75 Mbit/s``, ``at most 0``, ``yes``."""
    plain = text.replace(f"at least 1 {Unit.YES_NO}", "yes").replace(f"at most 0 {Unit.YES_NO}", "no")
    return _UNIT_NAMES.sub(lambda found: f"{found[1]}{_SPACE}{UNITS[Unit(found[2])]}".rstrip(), plain)


def clipped(text: str, longest: int = _LONGEST) -> str:
    """A text that leaves room for others."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def counted(count: int, word: str) -> str:
    """``1 node``, ``3 nodes``."""
    return f"{number(count, 12)} {word}{'' if count == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """``node-001, node-002``; of many, how many and the first and last of them."""
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{number(len(names), 12)} ({', '.join(names[: _NAMED - 2])}, … {names[-1]})"
