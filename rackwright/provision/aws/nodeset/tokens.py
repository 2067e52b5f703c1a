"""Client tokens: the same launch has the same token, a launch after a member is gone has another.

A token is replayed only where its instance cannot have gone: the instance that filled the slot
before is part of it. EC2 answers a token whose instance is gone with IdempotentInstanceTerminated;
then that instance is the one before (EC2 API, ensuring idempotency). A token is the 64 characters of a
SHA-256: the most that EC2 takes.
"""

from __future__ import annotations

from rackwright import canonical
from rackwright.provision.aws.nodeset.model import Ground


def token(ground: Ground, slot: str, before: str) -> str:
    """The token of one RunInstances.

    Args:
        ground: where and from what; another template is another launch.
        slot: to be filled.
        before: the instance that filled it last; empty where there was none.
    """
    where = ground.model_dump(mode="json", include=set(Ground.model_fields))
    return canonical.sha256(canonical.dumps({"ground": where, "slot": slot, "before": before}))
