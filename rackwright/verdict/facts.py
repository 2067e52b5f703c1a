"""What is data here: words of tools, and what a person does next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from rackwright import strict_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATA = Path(__file__).parent / "data"


def _load(name: str) -> object:
    return strict_yaml.load((_DATA / name).read_text(encoding="utf-8"))


UNREACHABLE: tuple[str, ...] = TypeAdapter(tuple[str, ...]).validate_python(_load("unreachable.yaml"))
"""What a tool says of a way that does not carry, unlike of a partner that does not listen."""

ACTIONS: Mapping[str, Mapping[str, str]] = TypeAdapter(dict[str, dict[str, str]]).validate_python(
    _load("actions.yaml")
)
"""Criterion → kind of site → what to do about a subject that does not pass."""


def action(criterion: str, site_kind: str, subject: str) -> str:
    """What a person does next about a subject; empty where nothing is written for it."""
    texts = ACTIONS.get(criterion, {})
    return filled(texts.get(site_kind) or texts.get("any", ""), subject)


def filled(text: str, subject: str) -> str:
    """An action with the names of its subject."""
    node, _, port = subject.partition("/")
    return text.format(subject=subject, node=node, port=port or "its port")
