"""A template's name and its values in, text out; a value that is missing is an error, never empty."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from rackwright import paths

if TYPE_CHECKING:
    from collections.abc import Mapping


_ESCAPED = ("html.j2",)
"""Endings of templates whose values are text, never markup; configuration files take them as they are."""


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(paths.repository() / "templates"),
        undefined=StrictUndefined,
        autoescape=select_autoescape(_ESCAPED, default=False),
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, values: Mapping[str, object]) -> str:
    """The text of one template.

    Args:
        template: path below ``templates/``: ``boot/hosts.j2``.
        values: all that it names.

    Raises:
        jinja2.UndefinedError: it names a value that is not there.
    """
    return _environment().get_template(template).render(values)
