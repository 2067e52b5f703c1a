"""Raw output of a tool in, `Parsed` out: all of it understood, or none of it used.

Each parser is a pure function of a text that never raises. Our own programs print sealed JSON
lines (`lines`); foreign tools are read by their own schema.
"""
