"""Where rackwright keeps things: one function per place of docs/architecture.md.

The environment is read here and nowhere deeper.
"""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import PlatformDirs

_DIRS = PlatformDirs("rackwright", appauthor=False)
_REPOSITORY = Path(__file__).resolve().parent.parent
LOGIN_KEY = "ssh_ed25519"
"""File in a cluster's secrets: the key that its hosts let in; the public half has ``.pub`` behind it."""


def real(path: Path) -> Path:
    """A path without links. One that goes in a circle stays as it is: who opens it is told (ELOOP)."""
    return Path(os.path.realpath(path))


def repository() -> Path:
    """The checkout: `stacks/`, `roles/`, `templates/` and `clusters/` lie here."""
    return _REPOSITORY


def cache() -> Path:
    """Engine and images, by content hash; may be deleted at any time."""
    return Path(_DIRS.user_cache_dir)


def state(cluster: str) -> Path:
    """All that rackwright knows of one cluster: plan, engine state, secrets, inventory."""
    return Path(_DIRS.user_state_dir) / cluster


def plan_file(cluster: str) -> Path:
    """The plan the stacks read."""
    return state(cluster) / "plan.json"


def observed_file(cluster: str) -> Path:
    """What exists only after launch."""
    return state(cluster) / "observed.json"


def secrets(cluster: str) -> Path:
    """What rackwright makes itself, each file mode 0600."""
    return state(cluster) / "secrets"


def login_key(cluster: str) -> Path:
    """The private key that hosts let in; `up` makes it."""
    return secrets(cluster) / LOGIN_KEY


def pulumi_home(cluster: str) -> Path:
    """The cluster's own PULUMI_HOME, with its plugins."""
    return state(cluster) / "pulumi"


def inventory(cluster: str) -> Path:
    """The generated Ansible inventory."""
    return state(cluster) / "inventory"


def rendered(cluster: str) -> Path:
    """Cluster-wide files, rendered once from plan and Observed, as roles lay them out."""
    return state(cluster) / "rendered"


def burst(cluster: str) -> Path:
    """What a controller is told of its slots on demand, as roles lay it out."""
    return state(cluster) / "burst"


def converge(cluster: str) -> Path:
    """Lock, events and report of converges, and what their runners leave; mode 0700."""
    return state(cluster) / "converge"


def fabric(cluster: str) -> Path:
    """What `fabric prove` has run: configuration, network and logs."""
    return state(cluster) / "fabric"


def subnets(cluster: str) -> Path:
    """Dumps of real InfiniBand networks, as `fabric prove --keep` took them."""
    return state(cluster) / "subnets"


def run(cluster: str) -> Path:
    """Sockets and process ids of one lab, gone after a reboot."""
    return Path(os.environ.get("RACKWRIGHT_RUN", "/run/rackwright")) / cluster


def runs(cluster: str) -> Path:
    """Evidence and reports, kept by `lab down`."""
    return Path.cwd() / "runs" / cluster
