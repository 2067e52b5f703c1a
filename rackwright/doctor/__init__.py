"""What a cluster's operator lacks, told before a command fails: a plan in, findings of checks out.

Everything is only read: no file is made, no host is powered on, nothing in an account changes.
`checks.py` is the table of all that is looked at.
"""
