#!/bin/sh
# Written by rackwright. Slurm's epilog: scratch is empty for the next job.
exec /usr/local/lib/rackwright/local_nvme.py --wipe
