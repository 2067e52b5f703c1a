"""What all commands have in common: how they are declared, found, run and ended.

A command module holds::

    @frame.command(example="rackwright check clusters/lab.yaml")
    @click.argument("spec", type=frame.SPEC)
    def command(console: Console, spec: Path) -> int:
        ...
        console.result(document, text)
        return GOOD

It returns its exit code, prints its one answer by `Console.result`, and raises a
`RackwrightError` for what it cannot do.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright import __version__, signals
from rackwright.cli.commands import COMMANDS
from rackwright.cli.output import Console, Format
from rackwright.errors import BAD, GOOD, INCOMPLETE, UNUSABLE, Interrupted, RackwrightError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

BROKEN_PIPE = 141
"""128 + SIGPIPE: the reader of stdout went away, as in ``rackwright plan … | head``."""

COMPLETION_VARIABLE = "_RACKWRIGHT_COMPLETE"

SPEC = click.Path(readable=False, path_type=Path)
"""A spec's path; whether it can be read is for `spec.load` to say."""


def completed(
    known: Callable[[click.Context], Iterable[str]], *, several: str = ""
) -> Callable[..., list[str]]:
    """For ``shell_complete``: those of the known names that begin as the word under the cursor.

    Args:
        known: the names, by what stands in the line so far; where it raises, there are none.
        several: characters that part names within the word, of which the last is completed.
    """

    def names(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
        before = begun[: 1 + max((begun.rfind(mark) for mark in several), default=-1)]
        with suppress(OSError, ValueError, RackwrightError):
            return [f"{before}{name}" for name in known(context) if name.startswith(begun[len(before) :])]
        return []

    return names


def _allocated(context: click.Context) -> Iterable[str]:
    from rackwright.cli import allocated  # noqa: PLC0415 (only a shell's Tab asks for it)

    # An option whose value is being typed stops click's reading: arguments before it are left in `args`.
    spec = context.params.get("spec") or next(iter(context.args), None)
    return allocated.names(Path(spec)) if spec else ()


stack_option = click.option(
    "--stack",
    default="",
    metavar="STACK",
    help="Only this stack: onprem/lab-hall, or a project (onprem) for all its stacks.",
)
"""The option of every command that works on stacks."""
limit_option = click.option(
    "--limit",
    default="",
    metavar="HOSTS",
    help="Only these: names, pools, groups, ranges: head-001,node-[001-003]!node-002.",
    shell_complete=completed(_allocated, several=",!"),
)
"""The option of every command that works on hosts; `converge.limit` says what it takes."""


EXIT_CODES = (
    (str(GOOD), "the answer is good"),
    (str(BAD), "the answer is bad: findings, a failed task, a FAIL"),
    (str(UNUSABLE), "asked in a way, or on a machine, that cannot work"),
    (str(INCOMPLETE), "incomplete: something was not measured, reached or identified"),
)
"""Of every command; where several hold, the first of 2, 1, 3."""


class Command(click.Command):
    """A command whose help ends with exit codes and an example."""

    example = ""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write both where click has its epilog."""
        super().format_epilog(ctx, formatter)
        with formatter.section("Exit codes"):
            formatter.write_dl(EXIT_CODES)
        with formatter.section("Example"):
            for line in self.example.splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class CommandTable(click.Group):
    """The root command: lists the table, imports a command's module when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, its module imported now."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name].module).command
        if not isinstance(command, click.Command):
            msg = f"{COMMANDS[cmd_name].module}.command is no click command"
            raise TypeError(msg)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click, with the nearest known name for an unknown one."""
        name = args[0]
        if name in COMMANDS or name.startswith("-"):
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        raise UsageError(
            "no such command",
            where="rackwright",
            got=name,
            expected=", ".join(COMMANDS),
            hint=f"did you mean `rackwright {near[0]}`?" if near else "see `rackwright --help`",
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without importing a module of it."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.group(cls=CommandTable, invoke_without_command=True)
@click.version_option(__version__, prog_name="rackwright", message="%(prog)s %(version)s")
@click.pass_context
def root(context: click.Context) -> None:
    """One spec of a hybrid AI training cluster, carried to proof."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def command(
    name: str | None = None, *, example: str, group: click.Group | None = None
) -> Callable[[Callable[..., int]], Command]:
    """Declare a command; its function gets a `Console` first and returns its exit code.

    Args:
        name: given only within a group.
        example: command lines that work as they stand, for the help.
        group: the group it belongs to; none for a command of the table.
    """

    def declare(function: Callable[..., int]) -> Command:
        declared = click.command(name, cls=Command)(_with_console(function))
        declared.example = example
        if group is not None:
            group.add_command(declared)
        return declared

    return declare


def _with_console(function: Callable[..., int]) -> Callable[..., int]:
    """Add ``--format``, ``-q`` and ``-v``, and hand their console to the function."""

    @click.option(
        "--format",
        "form",
        type=click.Choice([form.value for form in Format]),
        default=Format.TEXT.value,
        show_default=True,
        help="Form of the answer on stdout.",
    )
    @click.option("-q", "--quiet", is_flag=True, help="No progress, only answer and errors.")
    @click.option("-v", "--verbose", is_flag=True, help="More messages, and tracebacks of internal errors.")
    @click.pass_context
    @functools.wraps(function)
    def prepared(
        context: click.Context, /, *, form: str, quiet: bool, verbose: bool, **arguments: object
    ) -> int:
        console = context.ensure_object(Console)
        console.format, console.quiet, console.verbose = Format(form), quiet, verbose
        return function(console, **arguments)

    return prepared


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; raises nothing but KeyboardInterrupt twice."""
    try:
        code = _told(arguments, Console.before_parsing(arguments))
    except BrokenPipeError:
        code = BROKEN_PIPE
    except OSError:  # of stderr: nothing but the exit code can tell of it
        code = UNUSABLE
    return _flushed(code)


def _told(arguments: Sequence[str], console: Console) -> int:
    """Run it, and tell what it could not do.

    Raises:
        OSError: that could not be told.
    """
    try:
        with signals.taken_by(signal.default_int_handler, [signal.SIGTERM, signal.SIGHUP]):
            return _invoke(arguments, console)
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, click.Abort):
        return console.error(Interrupted("interrupted: the same command goes on from here"))
    except RackwrightError as error:
        return console.error(error)
    except click.ClickException as error:
        return console.error(_usage_error(error))
    except OSError as error:
        return console.unfit(error)
    except Exception as error:  # noqa: BLE001 (the edge: a bug ends as one line, not as a traceback)
        return console.unexpected(error)


def _invoke(arguments: Sequence[str], console: Console) -> int:
    instruction = os.environ.get(COMPLETION_VARIABLE)
    if instruction:
        return _complete(instruction)
    try:
        with root.make_context("rackwright", list(arguments), obj=console) as context:
            code: object = root.invoke(context)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    return code if isinstance(code, int) else GOOD


def _complete(instruction: str) -> int:
    from click.shell_completion import shell_complete  # noqa: PLC0415 (only a shell's Tab asks for it)

    return shell_complete(root, {}, "rackwright", COMPLETION_VARIABLE, instruction)


def _usage_error(error: click.ClickException) -> UsageError:
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = context.command_path if context else "rackwright"
    return UsageError(error.format_message(), where=path, hint=f"see `{path} --help`")


def _flushed(code: int) -> int:
    """Flush stdout here, where a reader that went away still has an answer."""
    if sys.__stdout__ is None:
        return code
    try:
        sys.__stdout__.flush()
    except BrokenPipeError:
        code = BROKEN_PIPE
    except OSError:
        code = UsageError.exit_code
    else:
        return code
    _discard_stdout()
    return code


def _discard_stdout() -> None:
    """Let the interpreter's own last flush go nowhere instead of failing again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
