"""How rackwright's programs on hosts print: JSON lines, each with its schema and a check sum of itself.

``crc32`` is zlib's CRC-32 of the line without that key, keys sorted, no spaces: a line that was cut or
mixed with another's on its way is never read for another one.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import zlib
from typing import NoReturn


def tell(schema: str, kind: str, **fields: object) -> None:
    """Print one line, at once: what was measured stays measured when the next thing hangs."""
    line = {"schema": schema, "kind": kind, **fields}
    sys.stdout.write(_text({**line, "crc32": zlib.crc32(_text(line).encode())}) + "\n")
    sys.stdout.flush()


def refuse(schema: str, reason: str) -> NoReturn:
    """Print that nothing could be measured, and why; ends with exit status 1."""
    tell(schema, "not-run", reason=reason)
    sys.exit(1)


def host() -> str:
    """This host, as Slurm names it; outside of a job by its own short name."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]


def _text(fields: dict[str, object]) -> str:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))
