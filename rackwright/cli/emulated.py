"""Commands about a lab's cluster talk to its emulated AWS, whatever the shell's own AWS settings are."""

from __future__ import annotations

import os

from rackwright.lab import places
from rackwright.lab.aws.run import environment

UNSET = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_DEFAULT_PROFILE")
"""What boto3 would prefer to keys, or send along with them."""


def enter(cluster: str) -> None:
    """Let this process, and those it starts, talk to the emulated AWS of a cluster's lab, if one runs."""
    wanted = environment(places.of(cluster))
    if wanted:
        for name in UNSET:
            os.environ.pop(name, None)
        os.environ.update(wanted)


def exports(cluster: str) -> tuple[list[str], dict[str, str]]:
    """For a shell: names to unset, and variables to set."""
    wanted = environment(places.of(cluster))
    return (list(UNSET) if wanted else []), wanted
