"""One `SlurmPlan` in, the files of its controller out; nodes get theirs from slurmctld (configless)."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from rackwright import canonical
from rackwright.plan.hostlist import hostlist
from rackwright.render.slurm_topology import refuse_topology
from rackwright.render.templates import render
from rackwright.spec.slots import parse_slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rackwright.plan.model import SlurmNodes, SlurmPartition, SlurmPlan, SlurmQos

ACCOUNTING_SCHEMA = "rackwright/slurm-accounting/1"
PROGRAMS = "/usr/local/lib/rackwright"
"""Where roles lay our programs."""
_MINUTES = 60
_POWER_SAVING = ("idle_on_node_suspend", "power_save_interval=2", "power_save_min_interval=0")
"""SlurmctldParameters with nodes on demand: a node that is asked for is launched within two seconds, and one
that was given back while drained or down is as good as new when it comes back (slurm.conf(5))."""


def files(slurm: SlurmPlan) -> dict[str, str]:
    """Name → text of every file that this Slurm needs, and of no other."""
    made = {
        "slurm.conf": _slurm_conf(slurm),
        "cgroup.conf": render("slurm/cgroup.conf.j2", {"lines": list(_cgroup(slurm))}),
        "topology.conf": _topology_conf(slurm),
    }
    gres = list(_gres(slurm))
    if gres:
        made["gres.conf"] = render("slurm/gres.conf.j2", {"lines": gres})
    if slurm.accounting:
        made["slurmdbd.conf"] = render("slurm/slurmdbd.conf.j2", {"host": slurm.accounting})
        made["accounting.json"] = canonical.dumps(
            {"schema": ACCOUNTING_SCHEMA, "cluster": slurm.cluster, "records": list(_records(slurm))}
        )
    return made


def _slurm_conf(slurm: SlurmPlan) -> str:
    values = {
        "slurm": slurm,
        "topology": "block" if slurm.block_sizes else "tree",
        "confinement": list(_confinement(slurm)),
        "accounting": list(_accounting(slurm)),
        "controller": ",".join(["enable_configless", *(_POWER_SAVING if slurm.burst else ())]),
        "power_saving": list(_power_saving(slurm)),
        "settings": [f"{key}={_quoted(value)}" for key, value in slurm.settings.items()],
        "nodes": [line for nodes in slurm.pools.values() for line in _node_lines(nodes)],
        "partitions": [_partition_line(slurm, name, part) for name, part in slurm.partitions.items()],
    }
    return render("slurm/slurm.conf.j2", values)


def _power_saving(slurm: SlurmPlan) -> Iterator[str]:
    """Programs and times by which slots are filled on demand; no other node is ever powered off."""
    if slurm.burst is None:
        return
    yield f"ResumeProgram={PROGRAMS}/burst-resume"
    yield f"ResumeFailProgram={PROGRAMS}/burst-resume-failed"
    yield f"SuspendProgram={PROGRAMS}/burst-suspend"
    yield f"ResumeTimeout={slurm.burst.resume_within_s}"
    yield f"SuspendTime={slurm.burst.idle_s}"
    yield f"SuspendTimeout={slurm.burst.suspend_within_s}"
    static = [name for nodes in slurm.pools.values() for name in nodes.nodes]
    if static:
        yield f"SuspendExcNodes={_folded(static)}"


def _quoted(value: str) -> str:
    return f'"{value}"' if any(char.isspace() for char in value) else value


def _confinement(slurm: SlurmPlan) -> Iterator[str]:
    host = slurm.host
    yield f"ProctrackType=proctrack/{host.proctrack}"
    yield f"TaskPlugin={','.join(f'task/{plugin}' for plugin in host.task)}"
    yield f"JobAcctGatherType=jobacct_gather/{host.job_acct_gather}"
    if host.slurmd:
        yield f"SlurmdParameters={','.join(host.slurmd)}"
    if _has_accelerators(slurm):
        yield "GresTypes=gpu"


def _has_accelerators(slurm: SlurmPlan) -> bool:
    return any(nodes.accelerators for nodes in slurm.pools.values())


def _accounting(slurm: SlurmPlan) -> Iterator[str]:
    """Without a database there are no accounts, so no quality of service, and nobody makes way."""
    if slurm.accounting is None:
        yield "AccountingStorageType=accounting_storage/none"
        yield "PreemptType=preempt/none"
        yield "PreemptMode=OFF"
        return
    yield "AccountingStorageType=accounting_storage/slurmdbd"
    yield f"AccountingStorageHost={slurm.accounting}"
    yield "AccountingStorageEnforce=associations,limits,qos"
    yield "PreemptType=preempt/qos"
    yield "PreemptMode=REQUEUE"


def _node_lines(nodes: SlurmNodes) -> Iterator[str]:
    """Of a pool's nodes: those that are there, those that the factory still owes, those on demand."""
    awaited = set(nodes.awaited)
    here = [name for name in nodes.nodes if name not in awaited]
    for names, state in ((here, "UNKNOWN"), (nodes.awaited, "FUTURE"), (nodes.burst, "CLOUD")):
        if names:
            yield " ".join([f"NodeName={_folded(names)}", *_hardware(nodes), f"State={state}"])


def _hardware(nodes: SlurmNodes) -> Iterator[str]:
    """What no source states stands at slurm.conf(5)'s own 1, which any node has."""
    if nodes.cpus is not None:
        yield f"CPUs={nodes.cpus}"
    if nodes.processors is not None:
        yield f"Sockets={nodes.processors.sockets}"
        yield f"CoresPerSocket={nodes.processors.cores_per_socket}"
        yield f"ThreadsPerCore={nodes.processors.threads_per_core}"
    if nodes.memory_mib is not None:
        yield f"RealMemory={nodes.memory_mib}"
    if nodes.accelerators:
        yield f"Gres=gpu:{nodes.accelerator}:{nodes.accelerators}"


def _folded(names: Iterable[str]) -> str:
    """Slots, rising, as a list of ranges for each of their pools."""
    pools: dict[str, list[int]] = {}
    for name in names:
        parsed = parse_slot(name)
        if parsed is None:
            raise ValueError(name)
        pools.setdefault(parsed[0], []).append(parsed[1])
    return ",".join(hostlist(pool, numbers) for pool, numbers in pools.items())


def _partition_line(slurm: SlurmPlan, name: str, part: SlurmPartition) -> str:
    pools = [_folded((*slurm.pools[pool].nodes, *slurm.pools[pool].burst)) for pool in part.pools]
    nodes = ",".join(nodes for nodes in pools if nodes)
    default = "YES" if part.default else "NO"
    return f"PartitionName={name} Nodes={nodes} Default={default} MaxTime={_time(part.max_hours)} State=UP"


def _time(hours: float | None) -> str:
    return "INFINITE" if hours is None else str(ceil(hours * _MINUTES))


def _cgroup(slurm: SlurmPlan) -> Iterator[str]:
    yield f"CgroupPlugin={slurm.host.cgroup_plugin}"
    if slurm.host.cgroup_plugin != "disabled":
        yield "ConstrainCores=yes"
        yield "ConstrainDevices=yes"
        yield "ConstrainRAMSpace=yes"


class _Switch(NamedTuple):
    name: str
    below: str


def _topology_conf(slurm: SlurmPlan) -> str:
    """What jobs are kept together by.

    Raises:
        RenderedInvalid: slurmctld would end with it.
    """
    leaves = [_Switch(unit, _folded(slots)) for unit, slots in slurm.units.items()]
    spines = [_Switch(spine, ",".join(units)) for spine, units in slurm.spines.items()]
    blocks, sizes = leaves if slurm.block_sizes else [], ",".join(map(str, slurm.block_sizes))
    values = {"leaves": leaves, "spines": spines, "blocks": blocks, "sizes": sizes}
    text = render("slurm/topology.conf.j2", values)
    refuse_topology(text)
    return text


def _gres(slurm: SlurmPlan) -> Iterator[str]:
    """Device files of accelerators; without them Slurm counts, and does not give each job its own."""
    for nodes in slurm.pools.values():
        names = (*nodes.nodes, *nodes.burst)
        if nodes.accelerators and names:
            line = f"NodeName={_folded(names)} Name=gpu Type={nodes.accelerator}"
            yield f"{line} {_devices(nodes)}"


def _devices(nodes: SlurmNodes) -> str:
    if nodes.device is None:
        return f"Count={nodes.accelerators}"
    last = nodes.accelerators - 1
    return f"File={nodes.device}[0-{last}]" if last else f"File={nodes.device}0"


def _records(slurm: SlurmPlan) -> Iterator[dict[str, canonical.Json]]:
    """What the database must hold, in an order in which each can be added.

    ``fields`` are sacctmgr's own, of ``add`` and ``modify`` as of ``show``; a list is a set. Who
    applies them compares first: sacctmgr says that it changed what was so already.
    """
    for name, qos in sorted(slurm.qos.items(), key=lambda item: (bool(item[1].preempts), item[0])):
        yield _record("qos", name, _qos_fields(qos))
    yield _record("account", slurm.account, {"Organization": slurm.account})
    for user in slurm.users:
        association: dict[str, canonical.Json] = {
            "Account": slurm.account,
            "DefaultAccount": slurm.account,
            "DefaultQOS": slurm.default_qos,
            "QOS": sorted(slurm.qos),
        }
        yield _record("user", user, association)


def _qos_fields(qos: SlurmQos) -> dict[str, canonical.Json]:
    return {
        "MaxWall": "" if qos.max_hours is None else _wall(qos.max_hours),
        "Preempt": list(qos.preempts),
        "Priority": str(qos.priority),
    }


def _wall(hours: float) -> str:
    """Days, hours, minutes and seconds as sacctmgr prints them."""
    minutes = ceil(hours * _MINUTES)
    days, rest = divmod(minutes, 24 * _MINUTES)
    clock = f"{rest // _MINUTES:02d}:{rest % _MINUTES:02d}:00"
    return f"{days}-{clock}" if days else clock


def _record(kind: str, name: str, fields: dict[str, canonical.Json]) -> dict[str, canonical.Json]:
    return {"kind": kind, "name": name, "fields": fields}
