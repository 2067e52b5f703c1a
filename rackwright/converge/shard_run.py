"""One shard through one ansible-runner: its events to whoever listens, and how it ended.

Ansible-runner is given an environment of ours, for three reasons: it copies the caller's into its
artefacts, where a token of it would lie; a caller's ``ANSIBLE_…`` must not change a converge; and
it switches host key checking off unless told otherwise.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible_runner import Runner, RunnerConfig  # type: ignore[import-untyped]  # (it has no types)

from rackwright import canonical
from rackwright.converge import leash
from rackwright.converge.stop_pipe import StopPipe

if TYPE_CHECKING:
    from rackwright.converge.shards import Shard

STOPPED = 99
"""Exit status of `ansible-playbook` that was interrupted (ansible-core, cli/__init__.py)."""
_KILLED = -1
KEPT_RUNS = 5
"""Artefacts of so many runs of a shard stay."""
_PRIVATE = 0o700
_STOP = "stop"
_HANDED_ON = re.compile(r"HOME|USER|LOGNAME|TERM|TZ|TMPDIR|SSH_AUTH_SOCK|XDG_\w+")
"""Of the caller's environment; the agent may hold the keys of a bastion."""
_CALLBACKS = Path(__file__).with_name("callback")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ERROR = re.compile(r"^\[?ERROR\]?!?:? *(.+)", re.MULTILINE)

BUDGET_PERCENT = 50
"""Of a shard's hosts that may fail before it begins no further task: where more than half of a rack
fail, the fault is no single host's, and whatever broke them would break the rest as well."""

OnEvent = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What all shards of a run have in common.

    Args:
        folder: of the report, the events and the shards of this and earlier runs.
        runners: lock that each runner holds, and that whoever holds the cluster's next waits for.
        inventory: folder that `rackwright inventory` writes.
        playbook: what to run.
        tags: of its tasks; empty for all.
        check: change nothing, show what would change.
        forks: hosts at once in one shard, at most.
        variables: extra variables; paths and hashes, never a secret.
        budget_percent: share of a shard's hosts that may fail before it begins no further task.
    """

    folder: Path
    runners: Path
    inventory: Path
    playbook: Path
    tags: tuple[str, ...]
    check: bool
    forks: int
    variables: Mapping[str, str]
    budget_percent: int = BUDGET_PERCENT

    def place(self, shard: Shard) -> Path:
        """The shard's private data folder."""
        return self.folder / "shards" / shard.name

    def may_fail(self, shard: Shard) -> int:
        """Hosts of a shard that its budget bears."""
        return self.budget_percent * len(shard.hosts) // 100


@dataclass(frozen=True, slots=True)
class Ending:
    """How a runner ended."""

    status: int
    """Exit status of `ansible-playbook`, negative or 128 and more where a signal ended it."""
    out_of_hosts: bool
    """Whether a play ended for want of hosts, as ``any_errors_fatal`` has it."""
    said: str
    """Its last own error, where it had one that is no host's."""
    seconds: float


def lay_out(place: Path) -> StopPipe:
    """Make a shard's private data folder, and what stops its runner."""
    place.mkdir(parents=True, exist_ok=True)
    os.chmod(place, _PRIVATE)  # noqa: PTH101 (also of a folder that somebody made wider)
    return StopPipe(place / _STOP)


def run(shard: Shard, settings: Settings, ident: str, on_event: OnEvent) -> Ending:
    """Run the playbook on a shard's hosts, to its end or until it is stopped.

    Args:
        shard: whose hosts.
        settings: of the run.
        ident: names this run's artefacts.
        on_event: gets each of the runner's events, in a thread of its own per shard.

    Raises:
        OSError: `on_event` raised it; the playbook has come to its end.
    """
    errors: list[str] = []
    kinds: set[str] = set()
    refused: list[OSError] = []

    def take(raw: dict[str, Any]) -> bool:
        try:
            on_event(raw)
        except OSError as error:
            refused.append(error)  # ansible-runner would pass over it
        kinds.add(str(raw.get("event")))
        errors.extend(_errors(raw))
        return False  # a result may hold a secret: it is not kept

    begun = time.monotonic()
    runner = Runner(config=_config(shard, settings, ident), event_handler=take)
    runner.run()
    if refused:
        raise refused[0]
    return Ending(
        status=_KILLED if runner.rc is None else int(runner.rc),
        out_of_hosts="playbook_on_no_hosts_remaining" in kinds,
        said=errors[-1] if errors else "",
        seconds=time.monotonic() - begun,
    )


def _config(shard: Shard, settings: Settings, ident: str) -> RunnerConfig:
    place = settings.place(shard)
    config = RunnerConfig(
        private_data_dir=str(place),
        project_dir=str(settings.playbook.parent),
        playbook=str(settings.playbook.resolve()),
        inventory=str(settings.inventory / "hosts.yml"),
        limit=f"@{_write_limit(place, shard)}",
        tags=",".join(settings.tags) or None,
        forks=min(settings.forks, len(shard.hosts)),
        cmdline="--check --diff" if settings.check else None,
        extravars=dict(settings.variables),
        ident=ident,
        rotate_artifacts=KEPT_RUNS,
        fact_cache_type="",
        quiet=True,
    )
    config.prepare()
    config.env = _environment(config.env, settings, shard)
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    config.command = [
        *(sys.executable, "-I"),
        *("-m", leash.__name__, str(os.getpid()), str(place / _STOP), str(settings.runners)),
        *(program, *config.command[1:]),
    ]
    return config


def _write_limit(place: Path, shard: Shard) -> Path:
    """The hosts as a file: thousands of names would not fit into an argument."""
    file = place / "hosts"
    canonical.write_atomic(file, "\n".join(shard.hosts) + "\n", mode=0o600)
    return file


def _environment(prepared: Mapping[str, str], settings: Settings, shard: Shard) -> dict[str, str]:
    """What ansible-runner needs for itself, and what we say; of the caller's own, little."""
    handed_on = {name: value for name, value in os.environ.items() if _HANDED_ON.fullmatch(name)}
    set_by_runner = {
        name: value for name, value in prepared.items() if os.environ.get(name) != value and name != "PATH"
    }
    callbacks = [set_by_runner["ANSIBLE_CALLBACK_PLUGINS"].rpartition(":")[2], str(_CALLBACKS)]
    return {
        **handed_on,
        **set_by_runner,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_CONFIG": str(settings.inventory / "ansible.cfg"),
        "ANSIBLE_CALLBACK_PLUGINS": ":".join(callbacks),
        "ANSIBLE_STDOUT_CALLBACK": "awx_display",
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_NOCOLOR": "1",
        "RACKWRIGHT_STOP_PIPE": str(settings.place(shard) / _STOP),
        "RACKWRIGHT_MAY_FAIL": str(settings.may_fail(shard)),
    }


def _errors(raw: Mapping[str, Any]) -> list[str]:
    """What `ansible-playbook` itself complains of: a playbook that cannot be read, an unknown module."""
    if raw.get("event") not in ("error", "verbose"):
        return []
    return [match[1].strip() for match in _ERROR.finditer(_ANSI.sub("", str(raw.get("stdout", ""))))]
