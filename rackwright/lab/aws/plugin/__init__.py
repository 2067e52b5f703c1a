"""Pulumi's package `aws` for a lab: the real engine and the real `pulumi_aws`, over the lab's emulator.

It knows the resources, inputs and calls that our stacks use, and refuses all others by name.
"""
