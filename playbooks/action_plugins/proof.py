"""The controller's half of `proof`: says whether drift is looked for."""

from __future__ import annotations

from ansible.plugins.action import ActionBase  # type: ignore[import-untyped]  # (ansible has no types)

_VARIABLE = "rackwright_drift"
"""Extra variable of `rackwright drift`."""


class ActionModule(ActionBase):  # type: ignore[misc]  # (ansible has no types)
    """Named as Ansible asks."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, object] | None = None) -> dict[str, object]:
        """Run the module on the host."""
        result: dict[str, object] = super().run(tmp, task_vars)
        arguments = {**self._task.args, "drift": bool((task_vars or {}).get(_VARIABLE))}
        result.update(self._execute_module(module_name="proof", module_args=arguments, task_vars=task_vars))
        return result
