"""The world of real hosts on one machine: namespaces, BMCs and `systemd-nspawn` hosts of a plan.

`world.py` is what there should be, `network.py`, `disks.py`, `bmcs.py` and `hosts.py` make it,
`labd.py` is the one process that does so, `faults/` is how it breaks something on purpose,
`parts.py` finds all that a lab has put on a machine and `teardown.py` takes it away. Only the command
line imports this package: the product itself meets these hosts over Redfish, SSH and their console
logs, as it meets any others.
"""
