#!/bin/sh
# Reaches every host of the spec $1 as Ansible does, through the inventory that was just written.
set -eu

folder=$(python3 -c '
import sys
from pathlib import Path
from rackwright import paths
from rackwright.spec.load import load

print(paths.inventory(load(Path(sys.argv[1])).spec.cluster.name))
' "$1")
ANSIBLE_CONFIG=$folder/ansible.cfg exec ansible all -m ansible.builtin.ping
