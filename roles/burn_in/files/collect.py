#!/usr/bin/python3
"""Output of another program, byte for byte, with a last line that says that it is whole.

``collect.py PROGRAM ARGUMENT…``: logs and tables of foreign tools do not tell when something is missing, so
this counts lines and a check sum while it passes them on, and seals what it passed where it was made::

    # rackwright: end of output, 120 lines, crc32 2774532101

A program that fails, or that cannot be started, gets no such line; the exit status is the program's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from typing import IO

BLOCK = 2**16
NOT_FOUND = 127
"""As a shell says it."""


def main(words: list[str]) -> int:
    """Run a program and pass its output on."""
    if not words:
        sys.stderr.write("collect.py: no program was named\n")
        return NOT_FOUND
    try:
        program = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    except OSError as error:
        sys.stderr.write(f"collect.py: {words[0]}: {error.strerror}\n")
        return NOT_FOUND
    seal = passed_on(program.stdout)
    status = program.wait()
    if status == 0:
        sys.stdout.buffer.write(seal)
        sys.stdout.buffer.flush()
    return status if status >= 0 else 128 - status


def passed_on(stream: IO[bytes] | None) -> bytes:
    """Pass all of it on, and give the last line that fits it, on a line of its own."""
    lines = crc = 0
    last = b"\n"
    while stream is not None and (block := os.read(stream.fileno(), BLOCK)):
        sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()
        lines, crc, last = lines + block.count(b"\n"), zlib.crc32(block, crc), block
    end = b"" if last.endswith(b"\n") else b"\n"
    lines, crc = lines + len(end), zlib.crc32(end, crc)
    return end + f"# rackwright: end of output, {lines} lines, crc32 {crc}\n".encode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
