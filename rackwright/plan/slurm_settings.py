"""Keys of slurm.conf: what stands there unless the spec states otherwise, and what the plan alone decides."""

from __future__ import annotations

DEFAULTS = {
    "HealthCheckInterval": "300",
    "MailProg": "/usr/bin/true",
    "MpiDefault": "pmix",
    "PriorityType": "priority/multifactor",
    "PriorityWeightQOS": "10000",
    "PropagateResourceLimitsExcept": "MEMLOCK",
    "SchedulerType": "sched/backfill",
    "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_Core",
}
"""``settings`` of a scheduler may replace each of them; nobody reads a cluster's mail until it is set up,
and RDMA registers memory by the node's limit, not by that of whoever submits."""

PLANNED = frozenset(
    {
        "AccountingStorageEnforce",
        "AccountingStorageHost",
        "AccountingStorageType",
        "AuthType",
        "ClusterName",
        "GresTypes",
        "HealthCheckNodeState",
        "HealthCheckProgram",
        "JobAcctGatherType",
        "JobRequeue",
        "PreemptMode",
        "PreemptType",
        "ProctrackType",
        "RebootProgram",
        "ResumeFailProgram",
        "ResumeProgram",
        "ResumeTimeout",
        "ReturnToService",
        "SlurmUser",
        "SlurmctldHost",
        "SlurmctldLogFile",
        "SlurmctldParameters",
        "SlurmctldPidFile",
        "SlurmdLogFile",
        "SlurmdParameters",
        "SlurmdPidFile",
        "SlurmdSpoolDir",
        "SlurmdTimeout",
        "StateSaveLocation",
        "SuspendExcNodes",
        "SuspendProgram",
        "SuspendTime",
        "SuspendTimeout",
        "TaskPlugin",
        "TopologyPlugin",
    }
)
"""Written from the plan: roles, checks and proofs rely on them."""
