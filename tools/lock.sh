#!/bin/sh
# Renew requirements.lock from setup.cfg and all its extras. Pins stay where they still fit: delete a line to move it.
set -eu
cd "$(dirname "$0")/.."
.venv/bin/uv pip compile setup.cfg --all-extras --universal --python-version 3.12 --quiet \
    --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' --output-file requirements.lock
