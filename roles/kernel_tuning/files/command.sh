#!/bin/sh
# Written by rackwright. Kernel settings of this host: apply or report.
exec /usr/local/lib/rackwright/kernel_tuning.py "$@"
