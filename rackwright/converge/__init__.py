"""Inventory and roles in, `ConvergeReport` out: the hosts' software, by ansible-runner."""
