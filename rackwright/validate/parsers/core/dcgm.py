"""What ``dcgmi diag -j`` (DCGM 3 and 4) and ``dcgmi mndiag -j`` say of each entity and test.

The word of a test is taken as it is; whether a skipped one counts is the judgement's matter, never a
pass. Text may stand before the document. Schemas: DCGM, testing/python3/dcgm_diag_schema.json (4), and
the documents that version 3 writes, where a test's results name a GPU by ``gpu_id``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwright.validate.parsers.core.unreadable import (
    Fields,
    a_count,
    a_list,
    a_text,
    an_object,
    corrupt,
    incomplete,
    not_run,
    object_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Status: TypeAlias = Literal["pass", "fail", "skip", "warn", "not_run"]
_STATUS: Mapping[str, Status] = {
    "pass": "pass",
    "fail": "fail",
    "skip": "skip",
    "warn": "warn",
    "warning": "warn",
    "not run": "not_run",
    "notrun": "not_run",
}
_ROOTS: Mapping[str, tuple[int, str]] = {
    "DCGM GPU Diagnostic": (3, "diag"),
    "DCGM Diagnostic": (4, "diag"),
    "DCGM Multi-Node Diagnostic": (4, "mndiag"),
}
_KEYS = frozenset(
    {"entity_group", "entity_group_id", "entity_id", "gpu_id", "gpu_ids", "status", "warnings", "info"}
)
_SOFTWARE = "deployment"
"""Category of version 3 whose results are about the host, and name no GPU."""
_GPU = "GPU"
_QUOTED = 200
"""Characters of what stands in place of a document."""


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning of a test; ids are those of dcgm_errors.h, None in version 3."""

    text: str
    error_id: int | None = None
    category: int | None = None
    severity: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One test on one entity."""

    category: str
    test: str
    group: str
    """``GPU``, ``CPU``, … or ``host``."""
    entity: int | None
    status: Status
    warnings: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All of a run."""

    schema: int
    """Major version of DCGM whose document it is."""
    kind: str
    """``diag`` or ``mndiag``."""
    version: str
    gpus: tuple[int, ...]
    """That were to be tested."""
    results: tuple[Result, ...]


def read(text: str) -> Diagnosis:
    """One run, in which every test speaks of every GPU.

    Raises:
        Unreadable: the schema is not known, a GPU has no result, or DCGM says that it did not run.
    """
    head, brace, _ = text.partition("{")
    if not brace:
        raise not_run(" ".join(head.lstrip()[:_QUOTED].split()) or "no document")
    top = object_of(text[len(head) :])
    roots = [name for name in _ROOTS if name in top]
    if len(roots) != 1:
        raise corrupt("the document is none of DCGM's that is known here")
    if "iterations" in top or "Overall Result" in top:
        raise corrupt("several iterations in one document: not read here")
    schema, kind = _ROOTS[roots[0]]
    body = an_object(top[roots[0]], roots[0])
    if body.get("runtime_error"):
        raise not_run(str(body["runtime_error"])[:200])
    gpus = _gpus(top, body, schema)
    results = tuple(_results(a_list(body.get("test_categories"), "test_categories"), schema))
    _complete(results, gpus)
    return Diagnosis(schema, kind, _version(top, body), gpus, results)


def _version(top: Fields, body: Fields) -> str:
    metadata = top.get("metadata", body.get("metadata"))
    fields = an_object(metadata, "metadata") if metadata is not None else {**body, **top}
    return a_text(fields.get("version"), "version")


def _gpus(top: Fields, body: Fields, schema: int) -> tuple[int, ...]:
    """Which GPUs were to be tested, as the document says beside its results."""
    found = _gpus_of_3({**body, **top}) if schema == 3 else _gpus_of_4({**body, **top})  # noqa: PLR2004
    if not found or len(set(found)) != len(found):
        raise incomplete("the document does not say which GPUs were to be tested")
    return tuple(sorted(found))


def _gpus_of_3(fields: Fields) -> list[int]:
    """Places in the list of device ids are the numbers of GPUs."""
    return list(range(len(a_list(fields.get("GPU Device IDs", []), "GPU Device IDs"))))


def _gpus_of_4(fields: Fields) -> list[int]:
    return [
        a_count(an_object(entity, "entities").get("entity_id"), "entity_id")
        for group in a_list(fields.get("entity_groups", []), "entity_groups")
        if an_object(group, "entity_groups").get("entity_group") == _GPU
        for entity in a_list(an_object(group, "entity_groups").get("entities"), "entities")
    ]


def _results(categories: list[object], schema: int) -> Iterator[Result]:
    seen: set[str] = set()
    for one in categories:
        category = an_object(one, "test_categories")
        name = a_text(category.get("category"), "category")
        for test in a_list(category.get("tests"), f"{name}.tests"):
            fields = an_object(test, f"{name}.tests")
            title = a_text(fields.get("name"), f"{name}: name of a test")
            if title.lower() in seen:
                raise corrupt(f"the test {title} stands twice")
            seen.add(title.lower())
            found = list(_of_test(name, title, fields, schema))
            _summary(title, fields, found, schema)
            yield from found


def _of_test(category: str, title: str, fields: Fields, schema: int) -> Iterator[Result]:
    listed = a_list(fields.get("results"), f"{title}.results")
    if not listed:
        raise incomplete(f"{title} has no result")
    for one in listed:
        result = an_object(one, f"{title}.results")
        if not result.keys() <= _KEYS:
            raise corrupt(f"{title}: a result with {', '.join(sorted(result.keys() - _KEYS))[:80]}")
        group, entity = _entity(category, title, result, schema)
        warnings = tuple(_warnings(result.get("warnings"), title))
        yield Result(category, title, group, entity, _status(result.get("status"), title), warnings)


def _entity(category: str, title: str, result: Fields, schema: int) -> tuple[str, int | None]:
    if schema == 3:  # noqa: PLR2004 (DCGM's version)
        if category.lower() == _SOFTWARE and "gpu_id" not in result:
            return "host", None
        number = result.get("gpu_id", result.get("gpu_ids"))
        if not isinstance(number, str) or not number.isdecimal():
            raise corrupt(f"{title}: a result of no single GPU")
        return _GPU, int(number)
    a_count(result.get("entity_group_id"), f"{title}: entity_group_id")
    return a_text(result.get("entity_group"), f"{title}: entity_group"), a_count(
        result.get("entity_id"), f"{title}: entity_id"
    )


def _status(value: object, title: str) -> Status:
    word = a_text(value, f"{title}: status").strip().lower()
    if word not in _STATUS:
        raise corrupt(f"{title}: status {word[:40]!r} is none that is known here")
    return _STATUS[word]


def _warnings(value: object, title: str) -> Iterator[Warned]:
    """Version 3 has one text or several, version 4 objects with ids."""
    if value is None:
        return
    for one in [value] if isinstance(value, str) else a_list(value, f"{title}.warnings"):
        if isinstance(one, str):
            yield Warned(one)
            continue
        fields = an_object(one, f"{title}.warnings")
        yield Warned(
            a_text(fields.get("warning"), f"{title}: warning"),
            a_count(fields.get("error_id"), f"{title}: error_id"),
            a_count(fields.get("error_category"), f"{title}: error_category"),
            a_count(fields.get("error_severity"), f"{title}: error_severity"),
        )


def _summary(title: str, fields: Fields, found: list[Result], schema: int) -> None:
    """The test's own sum of its results agrees with them."""
    if schema == 3:  # noqa: PLR2004 (DCGM's version)
        return
    said = _status(an_object(fields.get("test_summary"), f"{title}.test_summary").get("status"), title)
    failed = any(result.status == "fail" for result in found)
    if failed != (said == "fail") or (said == "pass" and not any(one.status == "pass" for one in found)):
        raise corrupt(f"{title}: the summary says {said}, and its results do not")


def _complete(results: tuple[Result, ...], gpus: tuple[int, ...]) -> None:
    """Each test that is about GPUs is about each of them once."""
    if not results:
        raise incomplete("no test ran")
    tests = {(result.category, result.test) for result in results}
    for category, test in tests:
        of_test = [result for result in results if result.test == test]
        seen = [(result.group, result.entity) for result in of_test]
        if len(set(seen)) != len(seen):
            raise corrupt(f"{test}: an entity stands twice")
        mine = sorted(one.entity for one in of_test if one.group == _GPU and one.entity is not None)
        if mine and mine != list(gpus):
            raise incomplete(f"{test} ({category}) tells of GPUs {mine}, and {list(gpus)} were to be tested")
    if not any(result.group == _GPU for result in results):
        raise incomplete("no test is about a GPU")
