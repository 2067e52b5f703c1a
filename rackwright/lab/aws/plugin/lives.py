"""Check, diff, create, read, update and delete of any resource: plain JSON in and out, without the wire."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.errors import UsageError
from rackwright.lab.aws.plugin.inputs import UNKNOWN, faults
from rackwright.lab.aws.plugin.table import RESOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.lab.aws.plugin.inputs import Fault
    from rackwright.lab.aws.plugin.resource import Clients, Props, Resource

_SUFFIX = 7
"""Digits behind an automatic name, as Pulumi's own providers have them."""
_EVERYWHERE = frozenset({"region"})
"""An input of every resource since version 7 of the provider; only its provider's own is imitated."""


class NotImitated(UsageError):
    """Something of package `aws` that the lab's plugin does not know."""

    default_code = "LAB030"


def kind_of(urn: str) -> type[Resource]:
    """Class of a resource by its URN.

    Raises:
        NotImitated: there is none.
    """
    token = urn.split("::")[2].rpartition("$")[2]
    if token not in RESOURCES:
        raise NotImitated(
            "the lab's plugin does not imitate this resource",
            where=urn,
            got=token,
            expected=", ".join(sorted(RESOURCES)),
            hint="add it to rackwright/lab/aws/plugin, with a test of what AWS does",
        )
    return RESOURCES[token]


def plain(properties: Props) -> Props:
    """Without what the engine keeps for itself."""
    return {name: value for name, value in properties.items() if not name.startswith("__")}


def checked(urn: str, before: Props, wanted: Props, seed: bytes) -> tuple[Props, list[Fault]]:
    """Inputs with a name where there was none, and what is wrong with them."""
    kind = kind_of(urn)
    named = plain(wanted)
    if kind.named and kind.named not in named:
        named[kind.named] = before.get(kind.named) or _automatic(urn, seed)
    wrong = dict(_not_imitated(kind, named)) | dict(faults(kind.args, named))
    return named, sorted(wrong.items())


def _automatic(urn: str, seed: bytes) -> str:
    return f"{urn.rpartition('::')[2]}-{hashlib.sha256(seed).hexdigest()[:_SUFFIX]}"


def _not_imitated(kind: type[Resource], wanted: Props) -> Iterator[Fault]:
    for name in sorted(wanted.keys() - kind.imitated - _EVERYWHERE):
        yield name, f"the lab's plugin does not imitate {kind.token}.{name}"


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between inputs.

    Args:
        changed: names of inputs.
        replacing: those of them that need another resource.
    """

    changed: tuple[str, ...]
    replacing: tuple[str, ...]


def difference(urn: str, before: Props, wanted: Props) -> Difference:
    """Compare inputs; a value that is not known yet is taken for another one."""
    kind = kind_of(urn)
    old, new = plain(before), plain(wanted)
    names = sorted(name for name in old.keys() | new.keys() if _differ(kind, name, old, new))
    return Difference(tuple(names), tuple(name for name in names if name in kind.replacing))


def _differ(kind: type[Resource], name: str, old: Props, new: Props) -> bool:
    if name not in old or name not in new:
        return bool(old.get(name) or new.get(name))
    return not kind.same(name, old[name], new[name])


def foreseen(urn: str, before: Props, wanted: Props) -> Props:
    """State after an update that is only previewed: what the change makes another one is unknown."""
    kind = kind_of(urn)
    changes = difference(urn, before.get("__inputs", {}), wanted).changed
    unknown = {output: UNKNOWN for output, inputs in kind.computed.items() if inputs & set(changes)}
    return {**plain(before), **plain(wanted), **unknown, "__inputs": plain(wanted)}


def create(clients: Clients, urn: str, wanted: Props) -> tuple[str, Props]:
    """Make a resource; its id and state."""
    resource = kind_of(urn)(clients)
    inputs = plain(wanted)
    name = resource.create(inputs)
    return name, _state(resource, name, inputs)


def _state(resource: Resource, name: str, inputs: Props) -> Props:
    """What is there, and the inputs that made it: the engine compares those."""
    now = resource.read(name)
    if now is None:
        raise UsageError("a resource is gone that was made just now", where=name, got=resource.token)
    return {**now, "tagsAll": now.get("tags", {}), **inputs, "__inputs": inputs}


def read(clients: Clients, urn: str, name: str, inputs: Props) -> tuple[Props, Props] | None:
    """State and inputs as they are now; None where it is gone.

    What drifted differs in inputs too, or the engine would not see it: each input of the program has
    its present value, and so have tags that nobody asked for.
    """
    resource = kind_of(urn)(clients)
    now = resource.read(name)
    if now is None:
        return None
    before = plain(inputs) or {one: now[one] for one in resource.imitated & now.keys()}
    found = {one: _kept(resource, one, before[one], now) for one in before}
    if now.get("tags") and "tags" in resource.imitated:
        found["tags"] = now["tags"]
    return {**now, "tagsAll": now.get("tags", {}), **found, "__inputs": found}, found


def _kept(resource: Resource, name: str, before: object, now: Props) -> object:
    """The program's own spelling where it still means what is there."""
    if name not in resource.imitated or name == "updateDefaultVersion":
        return before
    return before if resource.same(name, before, now.get(name)) else now.get(name)


def update(clients: Clients, urn: str, name: str, before: Props, wanted: Props) -> Props:
    """Change it in place; its state."""
    resource = kind_of(urn)(clients)
    inputs = plain(wanted)
    resource.update(name, before, inputs)
    return _state(resource, name, inputs)


def delete(clients: Clients, urn: str, name: str) -> None:
    """Remove it, if it is there."""
    resource = kind_of(urn)(clients)
    if resource.read(name) is not None:
        resource.delete(name)
