#!/bin/sh
# Everything that must hold. Words after it go to pytest, whose closing line comes last.
set -u
cd "$(dirname "$0")/.." || exit 1
sh tools/lint.sh || exit 1
exec .venv/bin/python -m pytest "$@"
