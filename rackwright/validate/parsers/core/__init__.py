"""Readers of NVIDIA's formats that need nothing but Python, for use on their own.

`nccl_text.read`, `nccl_json.read` and `dcgm.read` take a text and give frozen dataclasses, or raise
`unreadable.Unreadable`; nothing that is not understood is given.
"""
