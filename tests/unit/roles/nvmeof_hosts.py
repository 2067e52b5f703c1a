"""Plans of NVMe-oF hosts, and their program as role nvmeof_host runs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from tests.unit.roles.programs import Host

Values = dict[str, Any]
EMPTY: Values = {"identity": {"nqn": "nqn.me", "id": "me"}, "subsystems": {}}
MOUNT = {"mount": "/fast", "uuid": "1-2", "file_system": "ext4"}


def plan(*names: str, of_route: Values | None = None, **wishes: object) -> Values:
    """Connected to these subsystems by one path each, with one mount."""
    route = {"transport": "tcp", "address": "10.0.0.1", "service": 4420, "source": None, **(of_route or {})}
    one = {
        "target": "head-001",
        "routes": [route],
        "authenticated": False,
        "reconnect_s": 10,
        "loss_timeout_s": -1,
        "policy": "numa",
        "mounts": [MOUNT],
        **wishes,
    }
    return {**EMPTY, "subsystems": dict.fromkeys(names, one)}


ELSEWHERE = plan("a", mounts=[{**MOUNT, "uuid": "3-4"}])


def did(host: Host, before: int) -> list[str]:
    """What was run from a call on and changes something."""
    words = ("systemctl e", "systemctl d", "nvme", "mkfs")
    return [call for call in host.calls[before:] if call.startswith(words) and "daemon-reload" not in call]


def paths_of(program: ModuleType) -> ModuleType:
    """The module of paths that it has imported."""
    return sys.modules[program.connected.__module__.removeprefix("program_")]


def applied(program: ModuleType, plan: Values, **wishes: object) -> Values:
    """What it answers on a plan."""
    answer: Values = program.apply({"plan": plan, "check": False, **wishes})
    return answer
