#!/bin/sh
# Style, types and import contracts. All of them run, then the first failure counts.
set -u
cd "$(dirname "$0")/.." || exit 1
code=0
check() {
    printf 'lint: %s\n' "$*"
    ".venv/bin/python" -m "$@" || code=1
}
check ruff check --quiet .
check ruff format --check --quiet .
check mypy
check mypy tools
printf 'lint: import contracts\n'
.venv/bin/lint-imports --no-logo || code=1
exit "$code"
