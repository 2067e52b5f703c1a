"""Slots on demand: what Slurm asks for is launched, configured and terminated by its controller.

`prepare` runs where `rackwright converge` does; all else runs on the controller, as the daemon
`rackwright-burst` of the role `burst`.
"""
