"""All that is looked at, in the order in which the work needs it."""

from __future__ import annotations

from rackwright.doctor import held, machine, sites
from rackwright.doctor.model import Check

CHECKS = (
    Check("plan", sites.planned),
    Check("parts", sites.provisionable),
    Check("programs", machine.programs),
    Check("engine", machine.pulumi),
    Check("aws-plugin", machine.aws_plugin),
    Check("backend", machine.backend, needs=("engine",)),
    Check("room", machine.room),
    Check("keys", machine.keys),
    Check("work-lock", held.work_lock),
    Check("stack-locks", held.stack_locks),
    Check("converge-lock", held.converge_lock),
    Check("accounts", sites.accounts),
    Check("assets", sites.assets),
    Check("bmc-logins", sites.bmc_logins),
    Check("bmc-authority", sites.bmc_authority),
    Check("bmcs", sites.bmcs, needs=("bmc-logins", "bmc-authority")),
    Check("consoles", sites.consoles),
)
