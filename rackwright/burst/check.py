"""``python3 -m rackwright.burst.check LAID``: whether EC2 lets this controller in, for the role's proof."""

from __future__ import annotations

import sys
from pathlib import Path

from rackwright.burst import model
from rackwright.burst.pools import pools
from rackwright.errors import RackwrightError


def main(laid: Path) -> int:
    """Ask each pool's EC2."""
    try:
        for pool in pools(*model.read(laid)):
            filling = pool.filling()
            sys.stdout.write(f"{pool.ground.pool}: {len(filling)} of {len(pool.nodes)} slots filled\n")
    except RackwrightError as error:
        sys.stdout.write(f"{model.told(error)}\n")
        return error.exit_code
    sys.stdout.write("EC2 lets this controller in\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
