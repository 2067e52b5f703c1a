"""What a controller needs for its slots on demand, made where `rackwright converge` runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import canonical, paths
from rackwright.burst.bundle import archive
from rackwright.burst.model import BUNDLE, CREDENTIALS, SETTING, Setting
from rackwright.plan.observed import ObservedSlot
from rackwright.provision.aws.nodeset.model import Ground
from rackwright.provision.keys import burst_public_key, login_public_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rackwright.inventory.model import Inventory
    from rackwright.plan.model import Plan, SlurmPlan


def wanted(plan: Plan) -> bool:
    """Whether any slot is filled on demand."""
    return any(slurm.burst is not None for slurm in plan.slurm.values())


def write(
    plan: Plan, inventory: Inventory, grounds: Mapping[str, Ground], tell: Callable[[str], None]
) -> None:
    """Lay the files of each scheduler with slots on demand, for the role `burst`.

    Args:
        plan: the plan.
        inventory: with the controllers' host keys.
        grounds: pool → where and from what it is launched; a pool that was never up has none.
        tell: takes what keeps slots from being filled.

    Raises:
        EnvironmentUnfit: a key of ours cannot be read.
        OSError: a file could not be written whole.
    """
    folder, secrets = paths.burst(plan.cluster.name), paths.secrets(plan.cluster.name)
    canonical.write_atomic(folder / BUNDLE, archive(paths.repository()))
    keys = (login_public_key(secrets), burst_public_key(secrets))
    for name, slurm in plan.slurm.items():
        if slurm.burst is not None:
            setting = _setting(name, slurm, inventory, grounds, keys)
            canonical.write_atomic(folder / name / SETTING, canonical.dumps(setting))
            for pool in _unbuilt(slurm, grounds):
                tell(f"{pool}: slots on demand stay empty: `rackwright up SPEC` has not built the pool yet")
    _tell_of_credentials(plan, secrets / CREDENTIALS, tell)


def _setting(
    name: str,
    slurm: SlurmPlan,
    inventory: Inventory,
    grounds: Mapping[str, Ground],
    keys: tuple[str, ...],
) -> Setting:
    known = {one: inventory.hosts[one] for one in slurm.controllers if one in inventory.hosts}
    fields = set(Ground.model_fields)
    return Setting(
        scheduler=name,
        grounds={
            pool: Ground.model_validate(ground.model_dump(include=fields))
            for pool, ground in sorted(grounds.items())
            if pool in slurm.pools and slurm.pools[pool].burst
        },
        authorized_keys=keys,
        controllers={
            one: ObservedSlot(host_keys=host.host_keys, instance=host.instance, address=host.address)
            for one, host in known.items()
        },
    )


def _unbuilt(slurm: SlurmPlan, grounds: Mapping[str, Ground]) -> list[str]:
    return sorted(name for name, nodes in slurm.pools.items() if nodes.burst and name not in grounds)


def _tell_of_credentials(plan: Plan, file: Path, tell: Callable[[str], None]) -> None:
    """A controller in the zone has its instance's profile; any other needs a file."""
    elsewhere = [site for site, zone in plan.stacks.aws_access.items() if zone.controller == "account"]
    if elsewhere and not file.exists():
        tell(
            f"{', '.join(elsewhere)}: slots on demand stay empty: no AWS credentials for the controller; "
            f"put a profile of its role into {file}, mode 0600"
        )
