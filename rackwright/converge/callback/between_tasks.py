"""Ansible callback: when the stop file appears, tasks that run end in their order, and no other begins."""

from __future__ import annotations

import os
from pathlib import Path

from ansible.plugins.callback import CallbackBase  # type: ignore[import-untyped]  # (ansible has no types)

DOCUMENTATION = """
    name: between_tasks
    type: aggregate
    short_description: stop between two tasks
    description:
      - When the file named by RACKWRIGHT_STOP_FILE is there, the playbook ends before its next task.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # (ansible has no types)
    """Raises what Ctrl-C raises, where Ansible has no task under way."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "between_tasks"

    def v2_playbook_on_task_start(self, task: object, is_conditional: object) -> None:
        """Stop here."""
        del task, is_conditional
        _stop_here()

    def v2_playbook_on_handler_task_start(self, task: object) -> None:
        """Stop here."""
        del task
        _stop_here()


def _stop_here() -> None:
    stop_file = os.environ.get("RACKWRIGHT_STOP_FILE", "")
    if stop_file and Path(stop_file).exists():
        raise KeyboardInterrupt
