"""`python3 -m bootstrap COMMAND`: says so, in words any Python 3 can parse, when this one is too old."""

import sys

OLDEST = (3, 11)

if sys.version_info < OLDEST:
    sys.stderr.write(
        "%s: error SET001: this Python is too old for rackwright\n"
        "  got       %s\n"
        "  expected  %s or newer\n"
        "  hint      Debian 12 and Ubuntu 24.04 bring a newer one; put it first on PATH\n"
        % (sys.executable, sys.version.split()[0], ".".join(map(str, OLDEST)))
    )
    sys.exit(2)

from bootstrap.commands import main  # noqa: E402 (only a Python that can parse it may see it)

main(sys.argv[1:])
