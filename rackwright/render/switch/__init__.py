"""An Ethernet fat tree in, the configuration of each of its switches out."""
