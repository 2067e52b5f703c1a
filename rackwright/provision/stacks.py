"""Stacks of a cluster: which there are, in which order, and their settings for a plain `pulumi`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi.automation import (
    ConfigValue,
    LocalWorkspaceOptions,
    Stack,
    create_or_select_stack,
)

from rackwright import paths
from rackwright.errors import UsageError
from rackwright.provision.command import Command
from rackwright.provision.places import engine, environment, install_plugin
from rackwright.provision.program import PLAN
from rackwright.provision.provider import PACKAGE, SPEC_FOLDER, STATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rackwright.plan.model import Plan
    from rackwright.provision.places import Folders


@dataclass(frozen=True, slots=True)
class StackName:
    """One project for one site."""

    project: str
    site: str
    stack: str
    """``<cluster>-<site>``."""

    def __str__(self) -> str:
        return f"{self.project}/{self.stack}"

    @property
    def folder(self) -> Path:
        """The Pulumi project."""
        return paths.repository() / "stacks" / self.project


def stacks(plan: Plan) -> list[StackName]:
    """All stacks of a plan that can be built, in the order of design §5."""
    name = plan.cluster.name
    return [StackName("onprem", site, f"{name}-{site}") for site in sorted(plan.stacks.onprem)]


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


def open_stack(name: StackName, plan: Plan, folders: Folders) -> Open:
    """Create the stack if it is new, and write its settings (`Pulumi.<stack>.yaml`)."""
    command = Command(engine())
    install_plugin(folders.state)
    secrets = None if plan.secrets == "passphrase" else plan.secrets
    stack = create_or_select_stack(
        name.stack,
        work_dir=str(name.folder),
        opts=LocalWorkspaceOptions(
            env_vars=environment(plan, folders.state),
            pulumi_home=str(folders.state / "pulumi"),
            secrets_provider=secrets,
            pulumi_command=command,
        ),
    )
    stack.set_all_config({key: ConfigValue(value) for key, value in _settings(name, folders)})
    return Open(name, stack, command, folders)


def _settings(name: StackName, folders: Folders) -> Sequence[tuple[str, str]]:
    return (
        (f"{name.project}:{PLAN}", str(folders.plan)),
        (f"{PACKAGE}:{SPEC_FOLDER}", str(folders.spec)),
        (f"{PACKAGE}:{STATE_FOLDER}", str(folders.state)),
    )
