"""Plan slices in, real things out: stacks, the engine that runs them, and our own provider."""

from rackwright.provision.program import export, load_slice, outputs_of

__all__ = ["export", "load_slice", "outputs_of"]
