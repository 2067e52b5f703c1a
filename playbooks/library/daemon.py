#!/usr/bin/python
"""A systemd unit that runs with the files it has now."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule  # type: ignore[import-untyped]  # (ansible has no types)

DOCUMENTATION = """
module: daemon
short_description: A daemon runs, is enabled, and has read its files as they are now
description:
  - A daemon that was started before one of its files changed is restarted, or reloaded where that is enough.
  - It goes by the files' hash, noted when the daemon was started, and never by what this play changed. So a
    play that was cut off between a file and its daemon is mended by the next one, which a handler cannot do.
options:
  name:
    description: The unit.
    type: str
    required: true
  files:
    description: Files that it reads.
    type: list
    elements: path
    default: []
  reload:
    description:
      - Command that makes it read its files again; without one it is restarted. It also follows a restart,
        for those who have its files from it.
    type: list
    elements: str
    default: []
  restart_keys:
    description: Keys, as in C(Key=value), for which a reload is not enough.
    type: list
    elements: str
    default: []
  gone:
    description:
      - It runs no more, and does not start at boot. A unit that is not there is so already.
    type: bool
    default: false
  ours:
    description: The unit itself is a file of the role, which check mode did not lay if it is not there yet.
    type: bool
    default: false
"""
RETURN = """
did:
  description:
    - started, restarted, reloaded, stopped, nothing; or that the unit's own conditions forbid it here.
  returned: always
  type: str
drift:
  description: In check mode, what is otherwise with the unit than it should be.
  returned: in check mode
  type: list
  elements: dict
"""
NOTES = Path("/var/lib/rackwright/daemons")
"""Kept over a reboot: who has its files from a daemon may not have been told of them before it."""
UNITS = Path("/etc/systemd/system")
_PROPERTIES = (
    "LoadState",
    "ActiveState",
    "InvocationID",
    "UnitFileState",
    "NeedDaemonReload",
    "ConditionResult",
    "ConditionTimestampMonotonic",
    "ActiveEnterTimestamp",
)
_JOURNAL_LINES = 15
_OFF = "not there: this host has no part in it any more"


@dataclass(frozen=True)
class Hashes:
    """Of a daemon's files: of all that is in them, and of the keys that need a restart."""

    all: str
    keys: str


def hashes(files: list[str], keys: list[str]) -> Hashes:
    """The files as they are now; one that is missing counts as such."""
    total, key_lines = hashlib.sha256(), hashlib.sha256()
    matching = re.compile(rf"\s*({'|'.join(map(re.escape, keys))})\s*=", re.IGNORECASE) if keys else None
    for name in sorted(files):
        path = Path(name)
        content = path.read_bytes() if path.is_file() else b"absent"
        total.update(f"{name}\0{len(content)}\0".encode() + content)
        if matching:
            lines = (line for line in content.decode(errors="replace").splitlines() if matching.match(line))
            key_lines.update("\n".join(lines).encode())
    return Hashes(total.hexdigest(), key_lines.hexdigest())


class Daemon:
    """One unit, as systemd and our note of its last start have it."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.name: str = module.params["name"]
        self.note = NOTES / f"{self.name}.json"
        self.now = hashes(module.params["files"], module.params["restart_keys"])
        self.shown = self._show()

    def systemctl(self, *words: str) -> str:
        """Run systemctl; a failure ends the module with the unit's journal."""
        code, out, err = self.module.run_command(["systemctl", *words])
        if code != 0:
            self.fail(f"systemctl {' '.join(words)}: {err.strip() or out.strip()}")
        return str(out)

    def fail(self, message: str) -> None:
        """End the module."""
        journal = [
            "journalctl",
            "--no-pager",
            "--output=cat",
            f"--lines={_JOURNAL_LINES}",
            "--unit",
            self.name,
        ]
        _, lines, _ = self.module.run_command(journal)
        self.module.fail_json(msg=f"{self.name}: {message}", journal=lines.splitlines())

    def _show(self) -> dict[str, str]:
        wanted = f"--property={','.join(_PROPERTIES)}"
        lines = self.systemctl("show", "--timestamp=unix", wanted, self.name).splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def active(self) -> bool:
        """Whether it runs."""
        return self.shown["ActiveState"] in ("active", "reloading")

    @property
    def enabled(self) -> bool:
        """Whether it starts at boot."""
        return self.shown["UnitFileState"] in ("enabled", "enabled-runtime", "static", "alias")

    def last(self) -> dict[str, str]:
        """Our last note, of this process or of one before it; empty where there is none."""
        try:
            note: dict[str, str] = json.loads(self.note.read_text())
        except (OSError, ValueError):
            return {}
        return note

    def noted(self) -> Hashes | None:
        """What the running process was started with; None where nobody noted it."""
        note = self.last()
        if note and note["invocation"] == self.shown["InvocationID"]:
            return Hashes(note["all"], note["keys"])
        return None

    def younger_than_its_files(self) -> bool:
        """Whether it was started, by a boot or by hand, after the last change of its files.

        A file that is not there may have gone since: then its folder has changed.
        """
        started = float(self.shown["ActiveEnterTimestamp"].removeprefix("@") or 0)
        files = (Path(name) for name in self.module.params["files"])
        places = (path if path.exists() else path.parent for path in files)
        return all(place.stat().st_ctime < started for place in places if place.exists())

    def need(self) -> str:
        """What it takes: ``started``, ``restarted``, ``reloaded`` or ``nothing``."""
        if not self.active:
            return "started"
        noted = self.noted()
        if noted is None:
            return self._need_of_a_stranger()
        if noted.all == self.now.all:
            return "nothing"
        return "reloaded" if self.module.params["reload"] and noted.keys == self.now.keys else "restarted"

    def _need_of_a_stranger(self) -> str:
        """What one takes that a boot has started, or a run that was cut off before its note."""
        if not self.younger_than_its_files():
            return "restarted"
        return "reloaded" if self._told_otherwise() else "nothing"

    def _told_otherwise(self) -> bool:
        """Whether those who have its files from it were told of others, as far as we noted."""
        told = self.last().get("all", self.now.all)
        return bool(self.module.params["reload"]) and told != self.now.all

    def bring(self, need: str) -> None:
        """Do it."""
        if self.shown["NeedDaemonReload"] == "yes" or (need != "nothing" and self._reads_units()):
            self.systemctl("daemon-reload")
        if not self.enabled:
            self.systemctl("enable", "--quiet", self.name)
        if need in ("started", "restarted"):
            self.systemctl("reset-failed", self.name)
            self.systemctl("restart", self.name)
        if need in ("restarted", "reloaded") or (need == "started" and self._told_otherwise()):
            self._reload()

    def _reads_units(self) -> bool:
        """Whether a unit is among its files: systemd says nothing of another one, as a timer's service."""
        return any(Path(name).is_relative_to(UNITS) for name in self.module.params["files"])

    def _reload(self) -> None:
        command: list[str] = self.module.params["reload"]
        if command:
            code, out, err = self.module.run_command(command)
            if code != 0:
                self.fail(f"{' '.join(command)}: {err.strip() or out.strip()}")

    def write_note(self) -> None:
        """Note what it runs with."""
        NOTES.mkdir(parents=True, exist_ok=True)
        note = {"invocation": self.shown["InvocationID"], "all": self.now.all, "keys": self.now.keys}
        new = self.note.with_suffix(".new")
        new.write_text(json.dumps(note))
        new.replace(self.note)

    def converge(self) -> tuple[bool, str]:
        """Bring it about, and tell whether anything was done, and what."""
        need = self.need()
        if self._forbidden() and self.enabled and need == "started":
            return False, "nothing: a condition of the unit does not hold on this host"
        changed = need != "nothing" or not self.enabled
        if self.module.check_mode:
            return changed, need
        self.bring(need)
        self.shown = self._show()
        if not self.active and not self._forbidden():
            self.fail(f"is {self.shown['ActiveState']} after it was {need}")
        self.write_note()
        return changed, need

    def take_away(self) -> tuple[bool, str]:
        """Bring about that it runs no more, and tell whether anything was done, and what."""
        stopped = self.shown["ActiveState"] in ("inactive", "failed")
        changed = not stopped or self.shown["UnitFileState"] in ("enabled", "enabled-runtime")
        if changed and not self.module.check_mode:
            self.systemctl("disable", "--now", "--quiet", self.name)
        if not self.module.check_mode:
            self.note.unlink(missing_ok=True)
        return changed, "stopped" if changed else "nothing"

    def drift(self, did: str) -> list[dict[str, str]]:
        """What differs, where something would have to be done."""
        runs = "runs with files that are others now" if did in ("restarted", "reloaded") else ""
        state = f"{self.shown['ActiveState']}, {self.shown['UnitFileState'] or 'not installed'}"
        return [
            {
                "kind": "unit",
                "subject": self.name,
                "intended": _OFF if did == "stopped" else "active, enabled, with its files as they are",
                "observed": runs or state,
            }
        ]

    def _forbidden(self) -> bool:
        """Whether systemd tried to start it, and a condition of the unit kept it from that."""
        tried = self.shown["ConditionTimestampMonotonic"] not in ("", "0")
        return tried and self.shown["ConditionResult"] == "no"


def main() -> None:
    """Run as a module."""
    spec = {
        "name": {"type": "str", "required": True},
        "files": {"type": "list", "elements": "path", "default": []},
        "reload": {"type": "list", "elements": "str", "default": []},
        "restart_keys": {"type": "list", "elements": "str", "default": [], "no_log": False},
        "gone": {"type": "bool", "default": False},
        "ours": {"type": "bool", "default": False},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    daemon = Daemon(module)
    gone: bool = module.params["gone"]
    may_lack = gone or (module.check_mode and module.params["ours"])
    if daemon.shown["LoadState"] == "not-found" and not may_lack:
        module.fail_json(
            msg=f"{daemon.name} is not installed; hint: run converge with --tags install, or renew the image"
        )
    changed, did = daemon.take_away() if gone else daemon.converge()
    told = {"drift": daemon.drift(did) if changed else []} if module.check_mode else {}
    module.exit_json(changed=changed, did=did, **told)


if __name__ == "__main__":
    main()
