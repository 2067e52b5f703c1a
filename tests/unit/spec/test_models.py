"""What holds for every model of the spec: update policies, meanings, and a JSON Schema for editors."""

from __future__ import annotations

from typing import Annotated

import jsonschema  # type: ignore[import-untyped] # its stubs are another package
import pytest
from pydantic import Field
from ruamel.yaml import YAML

from rackwright import paths
from rackwright.spec.base import MEANINGS, Misfit, Model, Update, in_place
from rackwright.spec.cluster import ClusterSpec
from rackwright.spec.walk import all_models

EXAMPLES = sorted(
    path for path in (paths.repository() / "clusters").glob("*.yaml") if not path.name.endswith(".lock.yaml")
)
SCHEMA = ClusterSpec.model_json_schema()


def without_policy(root: type[Model]) -> list[str]:
    """Fields of a model, and of all models in it, that do not say what changing them does."""
    return [
        f"{model.__name__}.{name}"
        for model in all_models(root)
        for name, field in model.model_fields.items()
        if [bool(note.source) for note in field.metadata if isinstance(note, Update)] != [True]
    ]


def test_every_field_says_what_changing_it_does() -> None:
    assert len(all_models(ClusterSpec)) > 35
    assert without_policy(ClusterSpec) == []


def test_a_field_without_a_policy_is_found_however_deep_it_is() -> None:
    class Deep(Model):
        bare: int

    class Other(Model):
        kind: Annotated[str, in_place("x")]

    class Outer(Model):
        maps: Annotated[dict[str, Annotated[Deep | Other, Field()]] | None, in_place("x")]
        unsourced: Annotated[int, in_place("")]
        twice: Annotated[int, in_place("x"), in_place("y")]

    assert without_policy(Outer) == ["Outer.unsourced", "Outer.twice", "Deep.bare"]


def test_every_model_says_what_it_is() -> None:
    assert [model.__name__ for model in all_models(ClusterSpec) if not (model.__doc__ or "").strip()] == []
    bare = [name for name, definition in SCHEMA["$defs"].items() if not definition.get("description")]
    assert bare == []


def test_every_pattern_has_words_in_errors_and_editors() -> None:
    patterns = list(found(SCHEMA, "pattern"))
    assert len(patterns) > 20
    assert {pattern for pattern in patterns if pattern not in MEANINGS} == set()
    assert set(found(SCHEMA, "patternErrorMessage")) <= set(MEANINGS.values())


def found(node: object, key: str) -> list[str]:
    if isinstance(node, list):
        return [value for item in node for value in found(item, key)]
    if not isinstance(node, dict):
        return []
    mine = [node[key]] if isinstance(node.get(key), str) else []
    return mine + [value for below in node.values() for value in found(below, key)]


@pytest.mark.parametrize("spec", EXAMPLES, ids=lambda path: path.stem)
def test_the_json_schema_accepts_every_example(spec: object) -> None:
    values = YAML(typ="safe").load(spec)
    jsonschema.Draft202012Validator(SCHEMA).validate(values)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("pools.head.nods", {}),
        ("pools.head.nodes.static", -1),
        ("cluster.name", "LAB"),
        ("sites.hall.kind", "onprm"),
        ("sites.hall.networks.bmc.cidr", "10.77.1.0"),
        ("fabrics.compute.topology.kind", "ring"),
    ],
)
def test_the_json_schema_refuses_what_loading_refuses(path: str, value: object) -> None:
    values = YAML(typ="safe").load(paths.repository() / "clusters/lab.yaml")
    *above, last = path.split(".")
    here = values
    for key in above:
        here = here[key]
    here[last] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(values)


def test_a_misfit_keeps_its_parts() -> None:
    misfit = Misfit("m", got="g", expected="e", hint="h")
    assert (str(misfit), misfit.got, misfit.expected, misfit.hint) == ("m", "g", "e", "h")
