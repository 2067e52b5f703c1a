"""What every form of a cabling holds: which port goes to which; and what is wrong with a form."""

from __future__ import annotations

from typing import NamedTuple

from rackwright.errors import UsageError


class Wire(NamedTuple):
    """A cable by the names of its ends, the lower or first-named one first."""

    a_device: str
    a_port: str
    z_device: str
    z_port: str


class FormUnreadable(UsageError):
    """A file that is not the form it was said to be."""

    default_code = "FORM001"


def unreadable(form: str, where: str, got: str, expected: str) -> FormUnreadable:
    """What is wrong with a file, and where in it."""
    return FormUnreadable(
        f"this is no {form} as it is written",
        where=where,
        got=got,
        expected=expected,
        hint="give the file as the tool wrote it, whole",
    )
