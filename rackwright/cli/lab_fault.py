"""`rackwright lab fault`: break something in a lab's world on purpose, and mend it again."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.errors import GOOD, EnvironmentUnfit, UsageError
from rackwright.findings import did_you_mean
from rackwright.lab import naming, status
from rackwright.lab.faults import subjects
from rackwright.lab.faults.table import FAULTS
from rackwright.lab.protocol import LabdSilent, Request, Verb, ask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rackwright.canonical import Json
    from rackwright.cli.output import Console
    from rackwright.lab.faults.fault import Fault
    from rackwright.lab.model import World
    from rackwright.lab.protocol import Answer, NamedFault

_WITHIN_S = 300.0
"""Clearing may switch hosts on, one after the other."""


class _FaultGroup(click.Group):
    """`list`, `clear`, and each fault by its name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click, with the nearest known fault for an unknown one."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            raise _unknown_fault(args[0])
        return super().resolve_command(ctx, args)


@click.group("fault", cls=_FaultGroup)
def command() -> None:
    """Break the world of a lab on purpose, as root; the product is never told."""


_lab_option = click.option(
    "--lab",
    default=naming.usual,
    show_default="the only one that is here",
    metavar="SPEC|NAME",
    help="Which lab.",
)


@frame.command("list", group=command, example="rackwright lab fault list")
@_lab_option
def fault_list(console: Console, lab: str) -> int:
    """Show what is planted, and what can be: what it does, on what, and how a verdict shows it."""
    places = naming.which(lab)
    now = status.status(places) if places else None
    world = status.read_world(places) if places and now else None
    planted = now.faults if now else ()
    document: dict[str, Json] = {
        "schema": "rackwright/lab-faults/1",
        "faults": plain(planted),
        "known": [_known(fault, world) for fault in FAULTS.values()],
    }
    console.result(document, "\n".join([*map(_about, FAULTS.values()), *(lines(planted) or [_NONE])]))
    return GOOD


_NONE = "nothing is planted"


def _known(fault: Fault, world: World | None) -> Json:
    return {
        "name": fault.name,
        "does": fault.does,
        "kind": fault.kind.value,
        "subjects": subjects.possible(world, fault.kind) if world else [],
        "shows": fault.shows,
    }


def _about(fault: Fault) -> str:
    return f"{fault.name} {fault.kind.upper()}\n  does   {fault.does}\n  shows  {fault.shows}"


@frame.command("clear", group=command, example="rackwright lab fault clear slow-rail")
@_lab_option
@click.argument("name", required=False, default="")
def fault_clear(console: Console, name: str, lab: str) -> int:
    """Mend all that is planted, or all of NAME: the world is as it was before."""
    if name and name not in FAULTS:
        raise _unknown_fault(name)
    cleared = _ask(_world(lab), Request(Verb.CLEAR, fault=name)).faults
    document: dict[str, Json] = {"schema": "rackwright/lab-fault-clear/1", "cleared": plain(cleared)}
    text = "\n".join(f"cleared {one.name} on {one.subject}" for one in cleared)
    console.result(document, text or "nothing was planted")
    return GOOD


def _declare(fault: Fault) -> None:
    def plant(console: Console, subject: str, lab: str) -> int:
        world = _world(lab)
        full = subjects.find(world, fault.kind, subject)
        if full is None:
            raise _unknown_subject(fault, world, subject)
        planted = _ask(world, Request(Verb.PLANT, full, fault.name)).faults
        document: dict[str, Json] = {"schema": "rackwright/lab-fault/1", "planted": plain(planted)}
        text = "\n".join(f"planted {one.name} on {one.subject}: {fault.does}" for one in planted)
        console.result(document, text)
        return GOOD

    metavar = fault.kind.upper()
    plant.__doc__ = f"On {metavar}: {fault.does}.\n\nA verdict shows: {fault.shows}."
    known = frame.completed(lambda context: subjects.possible(_world(context.params["lab"]), fault.kind))
    argument = click.argument("subject", metavar=metavar, shell_complete=known)
    example = f"rackwright lab fault {fault.name} {subjects.EXAMPLES[fault.kind]}"
    frame.command(fault.name, group=command, example=example)(_lab_option(argument(plant)))


for _fault in FAULTS.values():
    _declare(_fault)


def _world(lab: str) -> World:
    places = naming.which(lab)
    if places is None or not places.world.exists():
        raise EnvironmentUnfit(
            "no such lab is up", code="LAB022", where=lab, hint="`rackwright lab up` makes it"
        )
    return status.read_world(places)


def _ask(world: World, request: Request) -> Answer:
    if os.geteuid() != 0:
        raise EnvironmentUnfit(
            "only root can break or mend a lab",
            code="LAB011",
            where=world.cluster,
            got=f"user {os.geteuid()}",
            expected="root",
            hint="run the same command as root",
        )
    try:
        return ask(world.places.socket, request, _WITHIN_S)
    except LabdSilent as silent:
        raise EnvironmentUnfit(
            "the lab's daemon does not answer",
            code="LAB015",
            where=str(world.places.socket),
            got=str(silent),
            hint=f"`rackwright lab up {world.spec}` starts it; then the same command again",
        ) from None


def _unknown_fault(name: str) -> UsageError:
    return UsageError(
        "no such fault",
        where="rackwright lab fault",
        got=name,
        expected=", ".join(FAULTS),
        hint=did_you_mean(name, [*FAULTS, "list", "clear"]) or "see `rackwright lab fault list`",
    )


def _unknown_subject(fault: Fault, world: World, subject: str) -> UsageError:
    names = subjects.possible(world, fault.kind)
    return UsageError(
        f"{fault.name} cannot be planted there",
        where=f"rackwright lab fault {fault.name}",
        got=subject,
        expected=f"a {fault.kind}: {', '.join(names) or 'this lab has none'}",
        hint=did_you_mean(subject, names),
    )


def plain(faults: Iterable[NamedFault]) -> list[Json]:
    """Faults as documents show them."""
    return [asdict(fault) for fault in faults]


def lines(faults: Sequence[NamedFault]) -> list[str]:
    """Faults as a reader sees them, one a line."""
    return [f"planted: {fault.name} on {fault.subject}" for fault in faults]
