"""Which lab a name or a spec means, even where the spec cannot be read any more.

Standard library only, as all that takes a lab away.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.lab import places

if TYPE_CHECKING:
    from rackwright.lab.places import Places

USUAL = "clusters/lab-hybrid.yaml"
"""Of the lab that `make lab` builds."""
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?")
_CLUSTER_NAME = re.compile(r"^cluster:\s*\{?\s*name:\s*[\"']?([a-z0-9-]+)", re.MULTILINE)
"""As people write it; a spec that hides its name otherwise is known by its path."""


def which(argument: str) -> Places | None:
    """The places of the lab that is meant.

    Args:
        argument: a lab's name, or the path of the spec it was made from.

    Returns:
        None where nothing tells a name.
    """
    path = Path(argument)
    if not path.exists() and _NAME.fullmatch(argument):
        return places.of(argument)
    made_from = [known for known in places.known() if _spec_of(known) == path.resolve()]
    if made_from:
        return made_from[0]
    name = _name_in(path)
    return places.of(name) if name else None


def usual() -> str:
    """Spec of the lab that is meant where none is named: the only one that is here, or `USUAL`."""
    here = [spec for known in places.known() if (spec := _spec_of(known)) is not None]
    return str(here[0]) if len(here) == 1 else USUAL


def here() -> list[str]:
    """Every lab that is here: its name, which commands take, and the spec it was made from."""
    return [f"{known.cluster} ({_spec_of(known) or 'of no known spec'})" for known in places.known()]


def _spec_of(lab: Places) -> Path | None:
    try:
        return Path(str(json.loads(lab.world.read_text())["spec"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _name_in(path: Path) -> str | None:
    try:
        found = _CLUSTER_NAME.search(path.read_text(errors="replace"))
    except OSError:
        return None
    return found[1] if found and _NAME.fullmatch(found[1]) else None
