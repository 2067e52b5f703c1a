"""``python3 -m rackwright.burst.check LAID``: whether EC2 lets this controller in, for the role's proof."""

from __future__ import annotations

import sys
from pathlib import Path

from rackwright.burst import model
from rackwright.burst.pools import pools
from rackwright.errors import RackwrightError
from rackwright.plan.model import Plan


def main(laid: Path) -> int:
    """Ask each pool's EC2."""
    plan = Plan.model_validate_json((laid / model.PLAN).read_text(encoding="utf-8"))
    try:
        for pool in pools(plan, model.read(laid / model.SETTING)):
            filling = pool.filling()
            sys.stdout.write(f"{pool.ground.pool}: {len(filling)} of {len(pool.nodes)} slots filled\n")
    except RackwrightError as error:
        sys.stdout.write(f"{error.code} {error.message}: {error.got}; {error.hint}\n")
        return error.exit_code
    sys.stdout.write("EC2 lets this controller in\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
