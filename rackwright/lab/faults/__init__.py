"""Faults of the lab's world, planted on purpose: a slow cable, a wrong library, lost power.

`table.py` lists them; each is one class of `fault.Fault`, told which host or rail it is for. A fault
is made in the world as a real one would be, and the product is never told of it. `planted.py` is
labd's part: it plants and clears, and keeps what was planted on disk.
"""
