#!/usr/bin/python
"""Files and folders of a host, all those of one role in one call."""

from __future__ import annotations

import base64
import os
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule  # type: ignore[import-untyped]  # (ansible has no types)

if TYPE_CHECKING:
    from collections.abc import Callable

DOCUMENTATION = """
module: tree
short_description: Lay many files and folders at once
description:
  - Each path is brought to its content, owner and mode; a path that is right is not touched.
  - A file is written beside its place and renamed, so that nobody reads half of it.
  - Texts come from the controller; its action plugin reads C(src) and hands contents over.
options:
  files:
    description:
      - Path on the host, to what is there. A file has C(content), its text, or C(src), a file on the
        controller; one with neither is a folder. C(mode) is octal and defaults to 0644 for files and 0755 for
        folders; C(owner) and C(group) default to root; the content of a C(secret) file is never shown.
      - With C(absent) nothing may be there; a folder with something in it is refused. C(optional) is absent
        where there is no C(src). With C(left) whatever is there is left as it is, and listed in C(there): a
        mark of a change that is not through, so that the next run knows of it where this one is cut off. Such
        a path may be a pattern of names, as a shell has it.
    type: dict
    required: true
  contents:
    description: Set by the action plugin. Path, to its content in base64.
    type: dict
    default: {}
"""
RETURN = """
changed_paths:
  description: What was, or in check mode would be, changed.
  returned: always
  type: list
  elements: str
there:
  description: What is at the paths with C(left).
  returned: always
  type: list
  elements: str
"""
_SHOWN_BYTES = 100_000
"""A longer text is no help in a diff."""
_FILE_MODE, _FOLDER_MODE = "0644", "0755"


@dataclass
class Entry:
    """One path and what is to be there.

    Args:
        path: on the host.
        content: None for a folder.
        mode: octal.
        owner: by name.
        group: by name.
        secret: whether its content is never shown.
        absent: whether nothing may be there.
        left: whether it is only looked for.
    """

    path: Path
    content: bytes | None
    mode: str
    owner: str
    group: str
    secret: bool
    absent: bool
    left: bool

    @property
    def attributes(self) -> dict[str, object]:
        """As AnsibleModule takes them."""
        security = {"seuser": None, "serole": None, "setype": None, "selevel": None}
        secontext = [None, None, None, None]
        owned = {"path": str(self.path), "mode": self.mode, "owner": self.owner, "group": self.group}
        return {**owned, **security, "secontext": secontext, "attributes": None}


@dataclass
class Outcome:
    """What was done so far."""

    changed_paths: list[str] = field(default_factory=list)
    diff: list[dict[str, str]] = field(default_factory=list)
    there: list[str] = field(default_factory=list)

    def note(self, path: Path, before: str, after: str) -> None:
        """One path was changed."""
        self.changed_paths.append(str(path))
        headers = {"before_header": str(path), "after_header": str(path)}
        self.diff.append({**headers, "before": before, "after": after})


class Wrong(Exception):
    """A path that cannot be brought to what it should be."""


def entry(path: str, wanted: dict[str, object], contents: dict[str, str]) -> Entry:
    """What the task says of one path."""
    content = base64.b64decode(contents[path]) if path in contents else None
    return Entry(
        path=Path(path),
        content=content,
        mode=str(wanted.get("mode", _FOLDER_MODE if content is None else _FILE_MODE)),
        owner=str(wanted.get("owner", "root")),
        group=str(wanted.get("group", "root")),
        secret=bool(wanted.get("secret")),
        absent=bool(wanted.get("absent")),
        left=bool(wanted.get("left")),
    )


def shown(content: bytes | None, *, secret: bool) -> str:
    """A content as a diff shows it."""
    if content is None:
        return ""
    if secret:
        return "(secret)\n"
    if len(content) > _SHOWN_BYTES or b"\0" in content:
        return f"({len(content)} bytes)\n"
    return content.decode(errors="replace")


def present(path: Path) -> bytes | None:
    """The content of a file, None where there is nothing.

    Raises:
        Wrong: something else is there.
    """
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(kind):
        raise Wrong(f"{path} is a link to {path.readlink()}, expected a file")
    if not stat.S_ISREG(kind):
        raise Wrong(f"{path} is no file")
    return path.read_bytes()


def lay_folder(module: AnsibleModule, wanted: Entry, outcome: Outcome) -> None:
    """Bring one folder about."""
    if wanted.path.is_dir():
        settle(module, wanted, outcome)
        return
    outcome.note(wanted.path, "", "folder\n")
    if not module.check_mode:
        wanted.path.mkdir(parents=True)
        module.set_fs_attributes_if_different(wanted.attributes, changed=False)


def lay_file(module: AnsibleModule, wanted: Entry, outcome: Outcome) -> None:
    """Bring one file about."""
    before = present(wanted.path)
    if before == wanted.content:
        settle(module, wanted, outcome)
        return
    secret = wanted.secret
    outcome.note(wanted.path, shown(before, secret=secret), shown(wanted.content, secret=secret))
    if not module.check_mode:
        replace(module, wanted)


def replace(module: AnsibleModule, wanted: Entry) -> None:
    """Write beside it, give it its owner and mode, and rename; nothing is left where that fails."""
    wanted.path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{wanted.path.name}.", dir=wanted.path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(wanted.content or b"")
            file.flush()
            os.fsync(file.fileno())
        module.set_fs_attributes_if_different({**wanted.attributes, "path": name}, changed=False)
        Path(name).replace(wanted.path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def settle(module: AnsibleModule, wanted: Entry, outcome: Outcome) -> None:
    """Owner and mode of what is there and right."""
    before = wanted.path.stat()
    if module.set_fs_attributes_if_different(wanted.attributes, changed=False):
        was = f"mode {stat.S_IMODE(before.st_mode):04o}, owner {before.st_uid}, group {before.st_gid}\n"
        outcome.note(wanted.path, was, f"mode {wanted.mode}, owner {wanted.owner}, group {wanted.group}\n")


def remove(module: AnsibleModule, wanted: Entry, outcome: Outcome) -> None:
    """Take one path away, if it is there."""
    path = wanted.path
    if not os.path.lexists(path):
        return
    outcome.note(path, "there\n", "")
    if not module.check_mode:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


def look(_module: AnsibleModule, wanted: Entry, outcome: Outcome) -> None:
    """Tell what is there."""
    outcome.there += sorted(map(str, wanted.path.parent.glob(wanted.path.name)))


def lay(module: AnsibleModule, entries: list[Entry]) -> Outcome:
    """Bring all about, folders before what is in them.

    Raises:
        Wrong: a path that holds something else.
        OSError: no space, a read-only file system.
    """
    outcome = Outcome()
    for wanted in sorted(entries, key=lambda one: (one.content is not None, one.path)):
        way(wanted)(module, wanted, outcome)
    return outcome


def way(wanted: Entry) -> Callable[[AnsibleModule, Entry, Outcome], None]:
    """How one path is brought about."""
    if wanted.left:
        return look
    if wanted.absent:
        return remove
    return lay_folder if wanted.content is None else lay_file


def main() -> None:
    """Run as a module."""
    spec = {
        "files": {"type": "dict", "required": True},
        "contents": {"type": "dict", "default": {}, "no_log": True},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    contents = module.params["contents"]
    entries = [entry(path, wanted, contents) for path, wanted in module.params["files"].items()]
    try:
        outcome = lay(module, entries)
    except Wrong as wrong:
        module.fail_json(msg=str(wrong))
    except OSError as error:
        module.fail_json(msg=f"{error.filename or 'a file of this tree'}: {error.strerror}")
    changed = outcome.changed_paths
    module.exit_json(changed=bool(changed), changed_paths=changed, diff=outcome.diff, there=outcome.there)


if __name__ == "__main__":
    main()
