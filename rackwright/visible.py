"""Text from elsewhere in, the same with all that a terminal would obey instead of showing it written out."""

from __future__ import annotations

import re

_OBEYED = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    r"\u200e\u200f\u202a-\u202e\u2066-\u2069"  # they turn the direction of what follows
    r"\ud800-\udfff"  # bytes of an argument or a file's name that are no text
)
_ANY = re.compile(f"[{_OBEYED}]")
_BUT_STYLES = re.compile(rf"(\x1b\[[0-9;]*m)|[{_OBEYED}]")


def visible(text: str) -> str:
    r"""``\x1b[2J`` instead of an empty screen."""
    return _ANY.sub(_written_out, text)


def with_styles(text: str) -> str:
    """The same of a text that has styles of ours: colours and weights stay."""
    return _BUT_STYLES.sub(lambda found: found[1] or _written_out(found), text)


def _written_out(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
