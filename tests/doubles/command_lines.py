"""Lines of a shell as simple commands, and whether rackwright would take one; nothing is run."""

from __future__ import annotations

import re
import shlex

import click

from rackwright.cli import frame


def simple_commands(line: str) -> list[list[str]]:
    """The simple commands of a line, those in `$( )` too, without assignments and redirections."""
    inlined = re.sub(r"[\"']?\$\(([^)]*)\)[\"']?", r"; \1", line)
    lexer = shlex.shlex(inlined, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    simple: list[list[str]] = [[]]
    for word in lexer:
        if word in {"|", "||", "&&", ";", "&"}:
            simple.append([])
        else:
            simple[-1].append(word)
    return [words for words in map(_bare, simple) if words]


def _bare(words: list[str]) -> list[str]:
    ends = next((n for n, word in enumerate(words) if re.fullmatch(r"[<>]+&?", word)), len(words))
    kept = [word for word in words[:ends] if not re.match(r"[A-Z_]+=", word)]
    return kept[:-1] if ends < len(words) and kept and kept[-1].isdigit() else kept


def _found(words: list[str]) -> tuple[click.Command | None, list[str]]:
    """The command that the first words name, if there is one, and the words behind it."""
    command: click.Command | None = frame.root
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        command, words = command.get_command(click.Context(command), words[0]), words[1:]
    return command, words


def refusal(words: list[str]) -> str:
    """Why rackwright would not take these arguments; empty if it would."""
    command, rest = _found(words)
    if command is None:
        return f"no command {' '.join(words[: len(words) - len(rest)])}"
    try:
        command.make_context(command.name, rest)
    except click.exceptions.Exit:
        return ""
    except click.ClickException as error:
        return error.format_message()
    return ""


def unknown(words: list[str]) -> list[str]:
    """What of a mention, which may leave arguments out, is no command or option of rackwright."""
    command, rest = _found([word for word in words if word.islower() or word.startswith("-")])
    if command is None:
        return [" ".join(words)]
    known = {option for one in command.params for option in one.opts} | {"--help", "--version"}
    asked = {word.partition("=")[0] for word in rest if word.startswith("-")}
    return sorted(asked - known)


def refusals(line: str) -> list[str]:
    """What rackwright would say against its own commands in a line."""
    ours = [words[1:] for words in simple_commands(line) if words[0] == "rackwright"]
    return [f"{' '.join(words)}: {said}" for words in ours if (said := refusal(words))]
