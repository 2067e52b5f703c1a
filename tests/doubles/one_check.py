"""Runs of one check: what a tool printed on each node, judged by the expectations that a test gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.catalogue.model import Check
from rackwright.validate.expectations import Expectation, Expectations, Key, Provenance
from rackwright.validate.limits import _limit, limits
from rackwright.validate.measure import measure
from rackwright.validate.model import Artefact, Context, Ended, Run, Step, Tool, Unit
from rackwright.verdict.judge import judge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.verdict.model import Reason, Verdict

CASES = Path(__file__).parents[1] / "cases"
SHA = "0" * 64
PLATFORM = "dgx-h100"


def text_of(case: str) -> str:
    """Input of a case, ``dmesg/good``."""
    return (CASES / case / "input.txt").read_text(encoding="utf-8")


def run_of(
    check: Check, tool: Tool, nodes: tuple[str, ...], *, together: bool = False, platform: str = PLATFORM
) -> Run:
    """A run with a step a node, or one of all nodes."""
    parts = [nodes] if together else [(node,) for node in nodes]
    return Run(
        cluster="atlas",
        suite="acceptance",
        plan_sha256=SHA,
        started="2026-11-28T08:00:00Z",
        finished="2026-11-28T08:10:00Z",
        sites={"hall": nodes},
        site_kinds={"hall": "onprem"},
        platforms={platform: nodes},
        rails=(),
        checks=(check,),
        expectations=Artefact(path="expectations.json", sha256=SHA),
        steps=tuple(_step(check, tool, part) for part in parts),
    )


def _step(check: Check, tool: Tool, nodes: tuple[str, ...]) -> Step:
    name = f"{check}/{nodes[0]}" if len(nodes) == 1 else check
    about = Context(node=nodes[0]) if len(nodes) == 1 else Context(nodes=nodes)
    return Step(
        name=name,
        check=check,
        tool=tool,
        context=about,
        nodes=nodes,
        command=(tool.value,),
        ended=Ended.DONE,
        exit_status=0,
        stdout=Artefact(path=f"raw/{name}.stdout", sha256=SHA),
    )


def of_outputs(
    node: str, outputs: Mapping[tuple[Check, Tool], str], expected: tuple[Expectation, ...] = ()
) -> Verdict:
    """The verdict where a node was asked for several checks, or by several tools, which printed these."""
    steps: list[Step] = []
    texts: dict[str, str] = {}
    for (check, tool), text in outputs.items():
        step, path = _step(check, tool, (node,)), f"raw/{check}-{tool}.stdout"
        about = {"name": f"{check}/{tool}/{node}", "stdout": Artefact(path=path, sha256=SHA)}
        steps.append(step.model_copy(update=about))
        texts[path] = text
    (check, tool), *_ = outputs
    checks = tuple(dict.fromkeys(check for check, _ in outputs))
    run = run_of(check, tool, (node,)).model_copy(update={"steps": tuple(steps), "checks": checks})
    measured = measure(run, lambda artefact: texts[artefact.path])
    return judge(run, measured, Expectations(expectations=expected))


def exchanging(run: Run) -> Run:
    """The same, in which its nodes have also exchanged data with another one."""
    (nodes,) = run.sites.values()
    step = _step(Check.COLLECTIVES, Tool.COLLECTIVES, (*nodes, "another"))
    return run.model_copy(update={"steps": (*run.steps, step)})


def verdict(run: Run, texts: Mapping[str, str], expected: tuple[Expectation, ...] = ()) -> Verdict:
    """The verdict where each node, or all together, printed these."""
    by_path = {
        step.stdout.path: texts.get(step.nodes[0], "") for step in run.steps if step.stdout is not None
    }
    measured = measure(run, lambda artefact: by_path[artefact.path])
    return judge(run, measured, Expectations(expectations=expected))


def first(found: Verdict, name: str) -> Reason:
    """The reason that stands for a subject's verdict."""
    subject = next(one for one in found.subjects if one.name == name)
    return next(one for one in subject.reasons if one.value is subject.verdict)


def limits_of(check: Check) -> tuple[Expectation, ...]:
    """The limits that come with the package."""
    return tuple(_limit(one) for one in limits().limits if one.check == check)


def planned(check: Check, name: str, *, platform: str = PLATFORM, **bound: object) -> Expectation:
    """Something that the plan expects of the platform."""
    words = bound.get("one_of")
    unit = Unit.WORD if words else bound.pop("unit", Unit.COUNT)
    values: dict[str, object] = {"nominal": bound.get("at_least", 0) or 0, **bound}
    return Expectation.model_validate(
        {
            "key": Key(name=name, check=check, platform=platform),
            "unit": unit,
            "provenance": Provenance.PLAN,
            "source": "a test",
            **values,
        }
    )
