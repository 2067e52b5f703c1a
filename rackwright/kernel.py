"""What can be set of a host's kernel, in the words of the kernel."""

from __future__ import annotations

from typing import Literal

Scalar = str | int | bool
"""Of a word of the kernel's command line; true is the bare word, and false is none."""
Limit = Literal["core", "memlock", "nofile", "nproc", "rtprio", "stack"]
"""As limits.conf(5) names them."""
IN_KIB = frozenset({"core", "memlock", "stack"})
"""Limits that limits.conf(5) counts in KiB."""
Amount = int | Literal["unlimited"]
PageSize = Literal["2M", "1G"]
HugePages = Literal["always", "madvise", "never"]
"""Transparent ones: /sys/kernel/mm/transparent_hugepage/enabled."""
Governor = Literal["performance", "powersave", "schedutil", "ondemand", "conservative"]
ClockSource = Literal["tsc", "kvm-clock", "hpet", "acpi_pm", "arch_sys_counter"]
CgroupVersion = Literal["v2"]
Interrupts = Literal["local"]
"""Of network cards: each on a processor of the card's own NUMA node."""
