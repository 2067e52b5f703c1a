"""Hosts that the emulated cloud launches and terminates: what is asked of labd, what it makes and keeps.

The emulator asks by `protocol.ask` with `Launch`; `userdata.py` reads what such a host boots with,
`records.py` keeps what was launched, and `instances.py` makes and removes it.
"""
