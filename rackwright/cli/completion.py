"""`rackwright completion`: the script that completes commands and options in a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from rackwright.cli import frame
from rackwright.errors import GOOD

if TYPE_CHECKING:
    from rackwright.cli.output import Console

_SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@frame.command(example='eval "$(rackwright completion bash)"')
@click.argument("shell", type=click.Choice(list(_SHELLS)))
def command(console: Console, shell: str) -> int:
    """Print the script by which SHELL completes commands, options, choices, names and files.

    \b
    bash, in ~/.bashrc:                   eval "$(rackwright completion bash)"
    zsh, in ~/.zshrc, after compinit:     eval "$(rackwright completion zsh)"
    fish, in ~/.config/fish/config.fish:  rackwright completion fish | source
    """  # noqa: D301 (click's own mark: these lines stay lines)
    script = _SHELLS[shell](frame.root, {}, "rackwright", frame.COMPLETION_VARIABLE).source_vars()
    text = _SHELLS[shell].source_template % script
    console.result({"schema": "rackwright/completion/1", "shell": shell, "script": text}, text)
    return GOOD
