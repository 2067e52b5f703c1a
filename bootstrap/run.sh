#!/bin/sh
# Runs a command of bootstrap/. On a machine without Python, as a bare Debian image is, root gets it one.
set -eu
cd "$(dirname "$0")/.."

if ! command -v python3 >/dev/null; then
    if [ "$(id -u)" -ne 0 ]; then
        echo "python3: error SET001: there is no Python on this machine" >&2
        echo "  expected  python3 3.11 or newer on PATH" >&2
        echo "  hint      run as root: apt-get install python3" >&2
        exit 2
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q >&2
    apt-get install -q -y --no-install-recommends python3 </dev/null >&2
fi

exec python3 -m bootstrap "$@"
