"""Stacks of a cluster: which there are, in which order, and their settings for a plain `pulumi`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pulumi.automation import (
    CommandError,
    ConfigValue,
    LocalWorkspace,
    Stack,
    StackNotFoundError,
    UpdateSummary,
)
from pulumi.automation._stack import StackInitMode
from typing_extensions import override

from rackwright import paths, strict_yaml
from rackwright.errors import EnvironmentUnfit, UsageError
from rackwright.plan.aws_model import ZoneStack
from rackwright.provision.command import Command
from rackwright.provision.engine_errors import refused
from rackwright.provision.places import engine, environment, install_plugin
from rackwright.provision.plan_file import begun_with
from rackwright.provision.program import OUTPUTS, PLAN
from rackwright.strict_yaml import NotYaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pulumi.automation import OutputMap

    from rackwright.canonical import Json
    from rackwright.plan.model import Plan
    from rackwright.provision.places import Folders


@dataclass(frozen=True, slots=True)
class StackName:
    """One project for one site."""

    project: str
    site: str
    stack: str
    """``<cluster>-<site>``."""
    inputs: tuple[str, ...] = ()
    """Projects of the same site whose outputs it reads."""

    def __str__(self) -> str:
        return f"{self.project}/{self.stack}"

    @property
    def folder(self) -> Path:
        """The Pulumi project."""
        return paths.repository() / "stacks" / self.project

    @property
    def unlock(self) -> str:
        """The command that ends the hold of a run that is dead where this machine cannot see it."""
        name = f"organization/{self.project}/{self.stack}"
        return f'eval "$(rackwright env SPEC)" && pulumi --cwd {self.folder} cancel --yes --stack {name}'

    @property
    def settings(self) -> Path:
        """What a plain `pulumi` reads of this stack; not in git."""
        return self.folder / f"Pulumi.{self.stack}.yaml"


@dataclass(frozen=True, slots=True)
class _Project:
    """A project of `stacks/`."""

    name: str
    slices: str
    """Attribute of `StacksPlan` that holds its slices, by site."""
    inputs: tuple[str, ...] = ()


COMPUTE = "aws-compute"
"""The project whose stacks have a zone's instances."""
_ORDER = (
    _Project("aws-network", "aws_network"),
    _Project("aws-access", "aws_access"),
    _Project("onprem", "onprem"),
    _Project(COMPUTE, "aws_compute", inputs=("aws-network", "aws-access")),
)
"""In the order in which stacks are brought up: each behind those whose outputs it reads."""


def stacks(plan: Plan) -> list[StackName]:
    """All stacks of a plan that can be built, in the order in which they are brought up."""
    name = plan.cluster.name
    return [
        StackName(project.name, site, f"{name}-{site}", project.inputs)
        for project in _ORDER
        for site in sorted(getattr(plan.stacks, project.slices))
    ]


def readers(name: StackName) -> list[StackName]:
    """Stacks of the same site that read a stack's outputs, whether or not the plan has them yet, or still."""
    return [
        StackName(project.name, name.site, name.stack, project.inputs)
        for project in _ORDER
        if name.project in project.inputs
    ]


def zones(plan: Plan, names: Sequence[StackName]) -> list[ZoneStack]:
    """Slices of those stacks that are in an account of AWS."""
    slices = {project.name: getattr(plan.stacks, project.slices) for project in _ORDER}
    found = (slices[name.project][name.site] for name in names)
    return [one for one in found if isinstance(one, ZoneStack)]


def chosen(plan: Plan, wanted: str) -> list[StackName]:
    """The stacks a user named; all of them where none was.

    Args:
        plan: the plan.
        wanted: ``onprem/lab-hall``, ``lab-hall`` or ``onprem``; empty for all.

    Raises:
        UsageError: no stack has that name.
    """
    there = stacks(plan)
    found = [one for one in there if wanted in ("", str(one), one.stack, one.project)]
    if wanted and not found:
        raise UsageError(
            "the plan has no such stack",
            where="--stack",
            got=wanted,
            expected=", ".join(map(str, there)) or "none: nothing of this spec can be built yet",
        )
    return found


class _Stack(Stack):
    """One that the SDK does not ask for outputs and history after each operation.

    Each of these questions starts the engine again, and nobody reads the answers: a `Report` is made
    from events and from the exported state.
    """

    @override
    def outputs(self) -> OutputMap:
        return {}

    @override
    def info(self, show_secrets: bool = True) -> UpdateSummary | None:
        del show_secrets
        return UpdateSummary("", datetime.min.replace(tzinfo=UTC), "", {}, {}, "")


@dataclass(frozen=True, slots=True)
class Open:
    """A stack that exists, with the command that runs it."""

    name: StackName
    stack: Stack
    command: Command
    folders: Folders
    environment: Mapping[str, str]

    def run(self, arguments: Sequence[str]) -> None:
        """Run `pulumi` in the stack's project, for what the SDK has no option for.

        Raises:
            CommandError: exit status other than 0.
        """
        self.command.run(list(arguments), str(self.name.folder), self.environment)


def open_stack(name: StackName, plan: Plan, folders: Folders) -> Open:
    """Create the stack if it is new, and write its settings (`Pulumi.<stack>.yaml`).

    Raises:
        EnvironmentUnfit: the engine is missing, or cannot open the stack.
    """
    command = Command(engine())
    install_plugin(folders)
    variables = environment(plan, folders.state) | begun_with(plan)
    workspace = LocalWorkspace(
        work_dir=str(name.folder),
        env_vars=variables,
        pulumi_home=str(folders.state / "pulumi"),
        secrets_provider=None if plan.secrets == "passphrase" else plan.secrets,
        pulumi_command=command,
    )
    try:
        stack = _selected(name, workspace)
        _configure(stack, name.settings, _settings(name, folders))
    except CommandError as error:
        raise refused(str(name), error) from None
    return Open(name, stack, command, folders, variables)


def _selected(name: StackName, workspace: LocalWorkspace) -> Stack:
    try:
        return _Stack(name.stack, workspace, StackInitMode.SELECT)
    except StackNotFoundError:
        # Settings of a stack of that name that is gone hold the salt of its passphrase.
        name.settings.unlink(missing_ok=True)
        return _Stack(name.stack, workspace, StackInitMode.CREATE)


def _configure(stack: Stack, settings: Path, wanted: Mapping[str, str]) -> None:
    """Settings that are gone (a new checkout, ``git clean``) are written anew; the engine knows the salt."""
    there = _configuration(settings)
    if any(there.get(key) != value for key, value in wanted.items()):
        stack.set_all_config({key: ConfigValue(value) for key, value in wanted.items()})


def _configuration(settings: Path) -> Mapping[str, object]:
    """What a stack's settings configure; the engine, too, takes an empty file for none."""
    try:
        told = strict_yaml.load(settings.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (NotYaml, UnicodeDecodeError) as error:
        raise _damaged(settings, str(error)) from None
    config = told.get("config") if isinstance(told, dict) else told
    if not isinstance(config, dict | None):
        raise _damaged(settings, "no mapping of settings")
    return config or {}


def _damaged(settings: Path, got: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "the stack's settings are damaged",
        code="UP012",
        where=str(settings),
        got=got,
        expected="settings as the engine writes them",
        hint="put back what you have set there yourself; or take the file away: what the engine needs of "
        "it is written anew",
    )


def _settings(name: StackName, folders: Folders) -> dict[str, str]:
    return {f"{name.project}:{PLAN}": str(folders.plan)}


def missing_input(opened: Open) -> str:
    """The first input stack that was never up; empty where all were."""
    for project in opened.name.inputs:
        if not _was_up(opened, project):
            return f"{project}/{opened.name.stack}"
    return ""


def _was_up(opened: Open, project: str) -> bool:
    """Whether a stack of the same site has outputs; a program that failed has exported nothing."""
    said = _said(opened, project, ["stack", "output", "--json"])
    return said is not None and OUTPUTS in json.loads(said)


def exported(opened: Open, other: StackName) -> Mapping[str, Any]:
    """The engine's state of another stack; empty where it was never made."""
    said = _said(opened, other.project, ["stack", "export"])
    return (json.loads(said)["deployment"] or {}) if said else {}


def _said(opened: Open, project: str, question: Sequence[str]) -> str | None:
    """What the engine answers of another stack of the same site; None where there is none."""
    folder = opened.name.folder.parent / project
    try:
        return opened.command.run(
            [*question, "--stack", opened.name.stack], str(folder), opened.environment
        ).stdout
    except StackNotFoundError:
        return None


def outputs_in(deployment: Mapping[str, Any]) -> Json:
    """The one output object of a stack, in its exported state; None where it has none."""
    roots = (one for one in deployment.get("resources") or () if one["type"] == _ROOT)
    outputs: Json = next((one.get("outputs", {}).get(OUTPUTS) for one in roots), None)
    return outputs


_ROOT = "pulumi:pulumi:Stack"
"""Type of the resource that stands for a stack, and holds its outputs."""
