#!/bin/sh
# Everything that must hold. Words after it go to pytest, whose closing line comes last.
# One test process per core; a file's tests stay together, because they share their recordings and worlds.
set -u
cd "$(dirname "$0")/.." || exit 1
sh tools/lint.sh || exit 1
exec .venv/bin/python -m pytest --numprocesses=auto --dist=loadfile "$@"
