"""Emulated AWS for a lab: moto's server made to behave as EC2 does where our stacks and NodeSet rely on it.

docs/emulator.md lists what it imitates, and what not.
"""
