"""What differs on a host, out of what kernel_tuning.py would change there and what waits for a reboot."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

KINDS = {"sysctl": "sysctl", "limits": "limit", "cmdline": "cmdline"} | dict.fromkeys(
    ("module_options", "load_modules", "block_modules"), "module"
)
"""First word of a setting → kind of drift; all other settings are states of the kernel."""
CONVERGE = "rackwright converge brings it back"
REBOOT = "rackwright reboot SPEC --apply, where converge has laid it"


def differences(changes: Iterable[str], waiting: Iterable[tuple[str, str, str]]) -> list[dict[str, str]]:
    """All of a host.

    Args:
        changes: ``setting: now becomes wanted``, or ``setting: what would be done``.
        waiting: setting, wanted and now of those that a reboot brings.
    """
    return [*_changed(changes), *_waiting(waiting)]


def _changed(changes: Iterable[str]) -> Iterator[dict[str, str]]:
    for line in changes:
        setting, _, rest = line.partition(": ")
        now, becomes, wanted = rest.partition(" becomes ")
        yield _one(setting, wanted if becomes else "as laid", now, CONVERGE)


def _waiting(settings: Iterable[tuple[str, str, str]]) -> Iterator[dict[str, str]]:
    for setting, wanted, now in settings:
        yield _one(setting, wanted, now, REBOOT)


def _one(setting: str, intended: str, observed: str, hint: str) -> dict[str, str]:
    word, _, rest = setting.partition(" ")
    kind = KINDS.get(word, "state")
    subject = rest if rest and kind != "state" else setting
    return {"kind": kind, "subject": subject, "intended": intended, "observed": observed, "hint": hint}
