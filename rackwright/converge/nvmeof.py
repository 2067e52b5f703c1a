"""DH-CHAP keys for the roles: read by their references, written once for a converge, mode 0600."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.errors import EnvironmentUnfit
from rackwright.spec.dhchap import parse
from rackwright.spec.references import read_secret

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.plan.nvmeof_model import NvmeofPlan
    from rackwright.spec.dhchap import DhchapKeys

FILE = "nvmeof.json"


def write_keys(plan: NvmeofPlan | None, secrets: Path, spec_folder: Path, state_folder: Path) -> None:
    """Write NQN of a host → its keys, for the roles of targets and hosts; nothing without such storage.

    Args:
        plan: with the references.
        secrets: folder of the cluster's secrets.
        spec_folder: what ``file:`` is relative to.
        state_folder: what ``state:`` is relative to.

    Raises:
        EnvironmentUnfit: a reference leads nowhere, a host of the storage has no key in it, or two storages
            name two keys of one host.
        OSError: the file could not be written whole.
    """
    if plan is None:
        return
    read = {
        name: parse(read_secret(reference, spec_folder, state_folder), reference)
        for name, reference in plan.secrets.items()
    }
    keys: dict[str, canonical.Json] = {}
    for slot, host in plan.hosts.items():
        storages = [one.storage for one in host.subsystems.values() if one.authenticated]
        for name in sorted(set(storages)):
            found = _of(slot, read[name], plan.secrets[name])
            pair: canonical.Json = {"host": found.host, "controller": found.controller}
            if keys.setdefault(host.identity.nqn, pair) != pair:
                raise _two_keys(slot, plan.secrets[name])
    canonical.write_atomic(secrets / FILE, canonical.dumps(keys), mode=0o600)


def _of(slot: str, keys: dict[str, DhchapKeys], where: str) -> DhchapKeys:
    if slot not in keys:
        raise EnvironmentUnfit(
            f"{slot} has no DH-CHAP key",
            code="NVME013",
            where=where,
            got="no entry of it",
            expected="an entry for every host of the storage",
            hint="nvme gen-dhchap-key --hmac=1 makes a key",
        )
    return keys[slot]


def _two_keys(slot: str, where: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        f"{slot} has another DH-CHAP key here than in another storage",
        code="NVME015",
        where=where,
        got="two keys of one host",
        expected="one key a host: its target knows no more",
        hint="let both storages name one file",
    )
