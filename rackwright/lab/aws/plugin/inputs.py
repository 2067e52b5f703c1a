"""Inputs of a resource against the classes of `pulumi_aws`: every name and type, at every depth."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from pulumi import _types

if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What the engine sends for a value that is known only after `up` (pulumi, rpc.UNKNOWN)."""
_NAMES = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
Fault = tuple[str, str]
"""Path of an input, and what is wrong with it."""


def faults(kind: type, plain: Mapping[str, Any], path: str = "") -> Iterator[Fault]:
    """What `pulumi_aws` would not know of these inputs.

    Args:
        kind: its class of arguments.
        plain: inputs as the engine sends them, in its own spelling.
        path: before their names.
    """
    known = _types.input_type_types(kind)
    for name, value in plain.items():
        if name not in known:
            yield f"{path}{name}", f"{kind.__name__} of pulumi_aws has no such input"
        else:
            yield from _faults_of(known[name], value, f"{path}{name}")
    for name in sorted(_required(kind) - plain.keys()):
        yield f"{path}{name}", f"{kind.__name__} of pulumi_aws needs it"


def _faults_of(kind: Any, value: Any, path: str) -> Iterator[Fault]:  # noqa: ANN401 (types and JSON)
    if value == UNKNOWN or value is None:
        return
    kind = _bare(kind)
    if _types.is_input_type(kind) if isinstance(kind, type) else False:
        yield from _nested(kind, value, path)
    elif get_origin(kind) is Sequence:
        yield from _listed(get_args(kind)[0], value, path)
    elif get_origin(kind) is Mapping:
        yield from _mapped(get_args(kind)[1], value, path)
    elif not _fits(kind, value):
        yield path, f"{value!r} is not {_NAMES.get(kind, str(kind))}"


def _bare(kind: Any) -> Any:  # noqa: ANN401
    """Out of Input[…] and Optional[…]: the first member that is a value's type."""
    while get_origin(kind) in (Union, types.UnionType):
        kind = get_args(kind)[0]
    return kind


def _nested(kind: type, value: Any, path: str) -> Iterator[Fault]:  # noqa: ANN401
    if isinstance(value, Mapping):
        yield from faults(kind, value, f"{path}.")
    else:
        yield path, f"{value!r} is not an object of {kind.__name__}"


def _listed(kind: Any, value: Any, path: str) -> Iterator[Fault]:  # noqa: ANN401
    if not isinstance(value, list):
        yield path, f"{value!r} is not a list"
        return
    for number, one in enumerate(value):
        yield from _faults_of(kind, one, f"{path}[{number}]")


def _mapped(kind: Any, value: Any, path: str) -> Iterator[Fault]:  # noqa: ANN401
    if not isinstance(value, Mapping):
        yield path, f"{value!r} is not a map"
        return
    for name, one in value.items():
        yield from _faults_of(kind, one, f"{path}.{name}")


def _fits(kind: Any, value: Any) -> bool:  # noqa: ANN401
    """The wire has numbers only as floating point."""
    if kind is int:
        return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) if kind in (str, bool) else False


def _required(kind: type) -> set[str]:
    """Inputs without a default, in the engine's spelling."""
    spelled = _types.input_type_py_to_pulumi_names(kind)
    parameters = inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]  # (of its class)
    return {
        spelled[one.name]
        for one in parameters
        if one.kind is inspect.Parameter.KEYWORD_ONLY and one.default is inspect.Parameter.empty
    }
