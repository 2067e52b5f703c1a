"""The controller's half of `program`: reads the program, its modules and its secret, and hands all over."""

from __future__ import annotations

import json
from pathlib import Path

from ansible.errors import AnsibleActionFail  # type: ignore[import-untyped]  # (ansible has no types)
from ansible.plugins.action import ActionBase  # type: ignore[import-untyped]  # (ansible has no types)


class ActionModule(ActionBase):  # type: ignore[misc]  # (ansible has no types)
    """Named as Ansible asks."""

    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, object] | None = None) -> dict[str, object]:
        """Run the module on the host."""
        result: dict[str, object] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        names = [str(name) for name in (arguments["src"], *arguments.get("modules", []))]
        found = [Path(self._find_needle("files", name)) for name in names]
        arguments["texts"] = {path.name: path.read_text(encoding="utf-8") for path in found}
        if arguments.get("secret"):
            arguments["handed"] = _secret(Path(str(arguments["secret"])))
        result.update(self._execute_module(module_name="program", module_args=arguments, task_vars=task_vars))
        return result


def _secret(path: Path) -> dict[str, object]:
    """A JSON object; an error names the file, never what is in it."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AnsibleActionFail(f"{path}: {error.strerror}") from None
    except ValueError:
        raise AnsibleActionFail(f"{path}: no JSON") from None
    if not isinstance(value, dict):
        raise AnsibleActionFail(f"{path}: no JSON object")
    return value
