#!/bin/sh
# Stage "ping" of `make lab`: every host of a spec answers Ansible, by the inventory in its state folder.
set -eu

folder=$(python -c '
import sys
from pathlib import Path
from rackwright import paths
from rackwright.spec.load import load
print(paths.inventory(load(Path(sys.argv[1])).spec.cluster.name))
' "$1")
export ANSIBLE_CONFIG="$folder/ansible.cfg"
export ANSIBLE_SSH_RETRIES=5 # a host prints its keys a moment before it listens

# Ansible calls it a success when there is nobody to ask.
hosts=$(ansible all --list-hosts | tail -n +2)
if [ -z "$hosts" ]; then
    echo "$folder: error LAB001: the inventory holds no host, so none can answer" >&2
    echo "  hint      \`rackwright inventory $1\` says which hosts are missing, and why" >&2
    exit 3
fi
exec ansible all --module-name ping
