"""A hybrid AI training cluster from one spec to proof.

The data flow is the architecture; a package imports only packages above it:

    spec, catalogue → plan → checks → render → provision → inventory → converge → validate → verdict → act

`cli` is thin and on top; `lab`, the world of real hosts on one machine, stands beside it.
"""

__version__ = "0.1.0"
