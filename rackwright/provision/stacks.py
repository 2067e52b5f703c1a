"""Stacks of a cluster: which there are, in which order, and their settings for a plain `pulumi`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi.automation import CommandError, ConfigValue, LocalWorkspace, Stack, StackNotFoundError

from rackwright import paths
from rackwright.errors import UsageError
from rackwright.plan.aws_model import ZoneStack
from rackwright.provision.command import Command
from rackwright.provision.engine_errors import refused
from rackwright.provision.places import engine, environment, install_plugin
from rackwright.provision.program import OUTPUTS, PLAN
from rackwright.provision.provider import PACKAGE, SPEC_FOLDER, STATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

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


_ORDER = (
    _Project("aws-network", "aws_network"),
    _Project("aws-access", "aws_access"),
    _Project("onprem", "onprem"),
    _Project("aws-compute", "aws_compute", inputs=("aws-network", "aws-access")),
)
"""Design §5, less the projects that this release does not have."""


def stacks(plan: Plan) -> list[StackName]:
    """All stacks of a plan that can be built, in the order of design §5."""
    name = plan.cluster.name
    return [
        StackName(project.name, site, f"{name}-{site}", project.inputs)
        for project in _ORDER
        for site in sorted(getattr(plan.stacks, project.slices))
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
    install_plugin(folders.state)
    variables = environment(plan, folders.state)
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
        return Stack.select(name.stack, workspace)
    except StackNotFoundError:
        # Settings of a stack of that name that is gone hold the salt of its passphrase.
        name.settings.unlink(missing_ok=True)
        return Stack.create(name.stack, workspace)


def _configure(stack: Stack, settings: Path, wanted: Mapping[str, str]) -> None:
    """Settings that are gone (a new checkout, ``git clean``) are written anew; the engine knows the salt."""
    there = (stack.workspace.stack_settings(stack.name).config or {}) if settings.exists() else {}
    if any(there.get(key) != value for key, value in wanted.items()):
        stack.set_all_config({key: ConfigValue(value) for key, value in wanted.items()})


def _settings(name: StackName, folders: Folders) -> dict[str, str]:
    return {
        f"{name.project}:{PLAN}": str(folders.plan),
        f"{PACKAGE}:{SPEC_FOLDER}": str(folders.spec),
        f"{PACKAGE}:{STATE_FOLDER}": str(folders.state),
    }


def missing_input(opened: Open) -> str:
    """The first input stack that was never up; empty where all were."""
    for project in opened.name.inputs:
        if _exported(opened, project) is None:
            return f"{project}/{opened.name.stack}"
    return ""


def exported(opened: Open) -> Json:
    """The one output object of a stack; None where it has none."""
    return _exported(opened, opened.name.project)


def _exported(opened: Open, project: str) -> Json:
    """Of a stack of the same site; a program that failed has exported nothing."""
    folder = opened.name.folder.parent / project
    workspace = LocalWorkspace(
        work_dir=str(folder), env_vars=opened.environment, pulumi_command=opened.command
    )
    try:
        found = workspace.stack_outputs(opened.name.stack).get(OUTPUTS)
    except StackNotFoundError:
        return None
    value: Json = found.value if found is not None else None
    return value
