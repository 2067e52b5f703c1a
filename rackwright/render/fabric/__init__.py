"""Cables in, one form of them out, and back: each form is a module that writes and reads it."""
