"""The set-up and the runner behind the Makefile; needs nothing but the system's Python.

`make setup` runs `steps`, each cached by a hash of what goes into it; `make lab` and `make check`
run `stages`. Only `rackwright.errors` is imported from the product: it is made of the standard
library alone, and an error looks the same before and after there is a virtual environment.
"""
