"""The kinds of node sets there are, by the type of their resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from rackwright.provision.aws.nodeset.kind import NodeKind
from rackwright.provision.onprem.kind import HostKind
from rackwright.spec.base import Model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.provision.kind import Kind

_M = TypeVar("_M", bound=Model)

KINDS: Mapping[str, Kind[Any, Any]] = {kind.token: kind for kind in (HostKind(), NodeKind())}


def model(form: type[_M], values: Mapping[str, Any]) -> _M:
    """Properties of the engine as a model; its own ``__…`` are not ours.

    Raises:
        ValidationError: they are of another version of ours, or of none.
    """
    return form.model_validate({name: value for name, value in values.items() if name[:2] != "__"})


def model_or_none(form: type[_M], values: Mapping[str, Any] | None) -> _M | None:
    """The same, where there is one and it is of this version."""
    try:
        return model(form, values or {})
    except ValidationError:
        return None


def sets(deployment: Mapping[str, Any] | None) -> Iterator[tuple[Kind[Any, Any], Model]]:
    """The node sets in the engine's exported state."""
    for resource in (deployment or {}).get("resources", ()):
        kind = KINDS.get(resource["type"])
        found = model_or_none(kind.found, resource.get("outputs")) if kind else None
        if kind is not None and found is not None:
            yield kind, found
