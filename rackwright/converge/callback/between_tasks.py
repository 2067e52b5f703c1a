"""Ansible callback: ends a playbook between two tasks, so that what has begun on a host ends in its order.

Ansible's own ``max_fail_percentage`` counts the hosts of a play, and would have to stand in every
play; here the shard counts, whatever the playbook says.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ansible.plugins.callback import CallbackBase  # type: ignore[import-untyped]  # (ansible has no types)

from rackwright.converge.stop_pipe import Listener

if TYPE_CHECKING:
    from ansible.executor.task_result import CallbackTaskResult  # type: ignore[import-untyped]
    from ansible.inventory.host import Host  # type: ignore[import-untyped]

DOCUMENTATION = """
    name: between_tasks
    type: aggregate
    short_description: stop between two tasks
    description:
      - Before its next task the playbook ends as if interrupted, when the pipe named by
        RACKWRIGHT_STOP_PIPE asks for it, or when more hosts failed than RACKWRIGHT_MAY_FAIL.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # (ansible has no types)
    """Raises what Ctrl-C raises, where Ansible has no task under way."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "between_tasks"

    def __init__(self) -> None:
        super().__init__()
        self._stop = Listener(Path(os.environ["RACKWRIGHT_STOP_PIPE"]))
        self._may_fail = int(os.environ["RACKWRIGHT_MAY_FAIL"])
        self._lost: set[str] = set()

    def v2_runner_on_start(self, host: Host, task: object) -> None:
        """A host that gets a task is not lost: the playbook has rescued it."""
        del task
        self._lost.discard(host.get_name())

    def v2_runner_on_failed(self, result: CallbackTaskResult, ignore_errors: bool = False) -> None:  # noqa: FBT001, FBT002 (Ansible's signature)
        """Count a host."""
        if not ignore_errors:
            self._lost.add(result.host.get_name())

    def v2_runner_on_unreachable(self, result: CallbackTaskResult) -> None:
        """Count a host."""
        self._lost.add(result.host.get_name())

    def v2_playbook_on_task_start(self, task: object, is_conditional: object) -> None:
        """Stop here, or not."""
        del task, is_conditional
        self._go_on()

    def v2_playbook_on_handler_task_start(self, task: object) -> None:
        """Stop here, or not."""
        del task
        self._go_on()

    def _go_on(self) -> None:
        if len(self._lost) > self._may_fail or self._stop.asked():
            raise KeyboardInterrupt
