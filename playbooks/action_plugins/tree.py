"""The controller's half of `tree`: reads what each file is to hold, and hands it over as base64."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

from ansible.errors import AnsibleActionFail, AnsibleError  # type: ignore[import-untyped]  # (ansible has no types)
from ansible.plugins.action import ActionBase  # type: ignore[import-untyped]  # (ansible has no types)

if TYPE_CHECKING:
    from collections.abc import Mapping

KEYS = {"absent", "content", "group", "left", "mode", "optional", "owner", "secret", "src"}
_READ_HERE = {"content", "optional", "src"}


class ActionModule(ActionBase):  # type: ignore[misc]  # (ansible has no types)
    """Named as Ansible asks."""

    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, object] | None = None) -> dict[str, object]:
        """Expand the task's files, then run the module on the host."""
        result: dict[str, object] = super().run(tmp, task_vars)
        files: Mapping[str, Mapping[str, object]] = self._task.args.get("files") or {}
        contents: dict[str, str] = {}
        plain: dict[str, dict[str, object]] = {}
        for path, wanted in files.items():
            _require_keys(path, wanted)
            content = self._content(wanted)
            if content is not None:
                contents[path] = base64.b64encode(content).decode()
            gone = content is None and bool(wanted.get("optional"))
            plain[path] = {key: value for key, value in wanted.items() if key not in _READ_HERE}
            plain[path] |= {"absent": True} if gone else {}
        arguments = {"files": plain, "contents": contents}
        result.update(self._execute_module(module_name="tree", module_args=arguments, task_vars=task_vars))
        return result

    def _content(self, wanted: Mapping[str, object]) -> bytes | None:
        """Bytes of a file; None for a folder, and where an optional one has no source."""
        if "content" in wanted:
            return str(wanted["content"]).encode()
        if "src" not in wanted:
            return None
        try:
            return Path(self._find_needle("files", str(wanted["src"]))).read_bytes()
        except AnsibleError:
            if wanted.get("optional"):
                return None
            raise
        except OSError as error:
            raise AnsibleActionFail(f"{wanted['src']}: {error.strerror}") from None


def _require_keys(path: str, wanted: Mapping[str, object]) -> None:
    unknown = sorted(set(wanted) - KEYS)
    if unknown or {"content", "src"} <= set(wanted):
        got = ", ".join(unknown) or "content and src"
        raise AnsibleActionFail(f"tree: {path}: got {got}, expected one of {', '.join(sorted(KEYS))}")
