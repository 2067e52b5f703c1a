"""Plan slices in, real things out: stacks, the engine that runs them, and our own provider."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackwright.provision.program import export, load_slice, outputs_of

__all__ = ["export", "load_slice", "outputs_of"]


def __getattr__(name: str) -> object:
    """What stacks are written with; imported when it is named, because it brings Pulumi (PEP 562)."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.program"), name)
