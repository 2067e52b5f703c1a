"""Along the spec's models: which model, which field, and in words, what a value should be."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Literal, TypeGuard, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from rackwright.spec.base import MEANINGS, Model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwright.findings import SpecPath

_WORDS: Mapping[object, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    date: "a date: `2027-03-01`",
}
_LISTS = (list, tuple, set, frozenset)


def model_at(root: type[Model], path: SpecPath, values: object) -> type[Model] | None:
    """The model of the map at a path; of a union, the one the map was meant as.

    Args:
        root: model of the whole.
        path: keys from the root.
        values: the whole, as plain values.
    """
    annotation, value = _at(root, path, values)
    found = chosen(annotation, value)
    return found if is_model(found) else None


def kinds_at(root: type[Model], path: SpecPath, values: object) -> list[str]:
    """The ``kind``s that the map at a path may have."""
    annotation, _ = _at(root, path, values)
    return [kind for member in _members(annotation) if is_model(member) for kind in kinds_of(member)]


def size_at(root: type[Model], path: SpecPath, values: object) -> int:
    """How many items the list of fixed length at a path has."""
    annotation, _ = _at(root, path, values)
    return len(get_args(annotation))


def _at(root: type[Model], path: SpecPath, values: object) -> tuple[object, object]:
    """Annotation and value at a path."""
    annotation: object = root
    for key in path:
        annotation = _inner(chosen(annotation, values), key)
        values = _item(values, key)
    return annotation, values


def chosen(annotation: object, value: object) -> object:
    """An annotation without its wrappers; of a union, the member that the value was meant as."""
    members = _members(annotation)
    models = [member for member in members if is_model(member)]
    if not models:
        return members[0] if members else annotation
    keys: Mapping[object, object] = value if isinstance(value, dict) else {}
    return max(models, key=lambda model: (_kind_fits(model, keys), len(keys & model.model_fields.keys())))


def is_model(annotation: object) -> TypeGuard[type[Model]]:
    """Whether an annotation is a model of ours."""
    return isinstance(annotation, type) and issubclass(annotation, Model)


def _members(annotation: object) -> list[object]:
    """The alternatives of an annotation, ``None`` left out."""
    if annotation is NoneType:
        return []
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in {Union, UnionType}:
        return [member for part in get_args(annotation) for member in _members(part)]
    return [annotation]


def _kind_fits(model: type[Model], keys: Mapping[object, object]) -> bool:
    return keys.get("kind") in kinds_of(model)


def _inner(annotation: object, key: str | int) -> object:
    """Annotation of what a map, list or model holds under a key."""
    if is_model(annotation):
        field = annotation.model_fields.get(str(key))
        return field.annotation if field else None
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is dict:
        return arguments[1]
    if origin is tuple and isinstance(key, int) and arguments[-1] is not Ellipsis:
        return arguments[min(key, len(arguments) - 1)]
    return arguments[0] if origin in _LISTS else None


def _item(values: object, key: str | int) -> object:
    if isinstance(values, dict):
        return values.get(key)
    if isinstance(values, list) and isinstance(key, int) and key < len(values):
        return values[key]
    return None


def all_models(root: type[Model]) -> list[type[Model]]:
    """A model and all models within it, each once, in the order of their fields."""
    found: dict[type[Model], None] = {}
    waiting = [root]
    while waiting:
        model = waiting.pop(0)
        if model not in found:
            found[model] = None
            waiting += [
                inner for field in model.model_fields.values() for inner in _models_in(field.annotation)
            ]
    return list(found)


def _models_in(annotation: object) -> Iterator[type[Model]]:
    if is_model(annotation):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def words(field: FieldInfo) -> str:
    """What a field's value should be, in words."""
    known = [MEANINGS[pattern] for pattern in patterns(field)]
    kinds = known or _kinds(_members(field.annotation))
    text = " or ".join(dict.fromkeys(kinds))
    about = (field.description or "").split("\n")[0]
    return f"{text} ({about.rstrip('.')})" if about and not known else text


def patterns(field: FieldInfo) -> Iterator[str]:
    """Patterns that a field's text must match."""
    annotated = [part for part in _parts(field.annotation) if get_origin(part) is Annotated]
    marks = [*field.metadata, *(mark for part in annotated for mark in get_args(part)[1:])]
    for mark in marks:
        for constraint in mark.metadata if isinstance(mark, FieldInfo) else [mark]:
            pattern = getattr(constraint, "pattern", None)
            if isinstance(pattern, str):
                yield pattern


def _parts(annotation: object) -> list[object]:
    """An annotation's alternatives with their wrappers on."""
    if get_origin(annotation) in {Union, UnionType}:
        return list(get_args(annotation))
    return [annotation]


def _kinds(members: Sequence[object]) -> list[str]:
    """What each alternative is; maps that are told apart by their ``kind`` are one."""
    kinds = [kind for member in members if is_model(member) for kind in kinds_of(member)]
    if len(members) > 1 and kinds:
        return [f"a map with `kind: {one_of(kinds)}`"]
    return [_word(member) for member in members]


def kinds_of(model: type[Model]) -> tuple[str, ...]:
    """Values of a model's ``kind``; none where it has no such key."""
    kind = model.model_fields.get("kind")
    return get_args(kind.annotation) if kind else ()


def _word(annotation: object) -> str:
    if is_model(annotation):
        first = (annotation.__doc__ or "").splitlines()[0].rstrip(".")
        return f"a map: {first[:1].lower()}{first[1:]}"
    origin = get_origin(annotation)
    if origin is Literal:
        return one_of(get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return one_of([member.value for member in annotation])
    if origin in _LISTS:
        return "a list"
    return "a map" if origin is dict else _WORDS.get(annotation, "a value")


def one_of(values: Sequence[object]) -> str:
    """Alternatives in words: ``a, b or c``."""
    *most, last = [str(value) for value in values]
    return f"{', '.join(most)} or {last}" if most else last
