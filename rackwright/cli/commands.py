"""Every command: its name, the module that holds it as `command`, and its line in the help.

The table is all that ``rackwright --help`` reads; a module is imported when its command is called.
"""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command of the table."""

    module: str
    summary: str


COMMANDS = {
    "schema": Entry("rackwright.cli.schema", "JSON Schema of what rackwright reads and writes."),
    "check": Entry("rackwright.cli.check", "What all rules say of a spec."),
    "plan": Entry("rackwright.cli.plan", "The plan and the lock of a spec."),
    "stacks": Entry("rackwright.cli.stacks", "Settings of the stacks, for a plain `pulumi`."),
    "env": Entry("rackwright.cli.env", "The environment for a plain `pulumi`."),
    "preview": Entry("rackwright.cli.preview", "What `up` would do to the hosts as they are now."),
    "up": Entry("rackwright.cli.up", "Bring up what is planned, stack by stack."),
    "refresh": Entry("rackwright.cli.refresh", "Read what is there into the engine's state."),
    "destroy": Entry("rackwright.cli.destroy", "Forget hosts of halls, which stay on; end those of clouds."),
    "inventory": Entry("rackwright.cli.inventory", "Ansible inventory, with the host keys read on consoles."),
    "converge": Entry("rackwright.cli.converge", "The hosts' software: controllers first, then all racks."),
    "reboot": Entry("rackwright.cli.reboot", "Hosts that wait for a reboot; with --apply, one by one."),
    "drift": Entry("rackwright.cli.drift", "What is otherwise on the hosts than intended; changes nothing."),
    "render": Entry("rackwright.cli.render", "Every cluster-wide file of a plan."),
    "validate": Entry("rackwright.cli.validate", "Evidence by Slurm jobs, and the verdict on it."),
    "parse": Entry("rackwright.cli.parse", "What one tool's raw output says."),
    "judge": Entry("rackwright.cli.judge", "The verdict on a run folder, anew."),
    "expect": Entry("rackwright.cli.expect", "Figures learned from a fleet; which one applies, and why."),
    "compare": Entry("rackwright.cli.compare", "Two runs of the same machines: what became worse."),
    "catalogue": Entry("rackwright.cli.catalogue", "Platforms and parts, each figure with its source."),
    "nics": Entry("rackwright.cli.nics", "Network interfaces of an EC2 type, by card and device index."),
    "fabric": Entry("rackwright.cli.fabric", "Switches and cables of a fabric."),
    "doctor": Entry("rackwright.cli.doctor", "What is missing for a spec, before a command fails for it."),
    "lab": Entry("rackwright.cli.lab", "Real hosts on this machine: up, down, status, doctor, fault, ssh."),
    "completion": Entry("rackwright.cli.completion", "Completion script for a shell."),
}
"""In the order of the work, which is the order of the help."""
