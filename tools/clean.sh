#!/bin/sh
# Remove the environment and what tools left behind. Recordings and runs stay.
set -eu
cd "$(dirname "$0")/.."
rm -rf .venv .venv.lock .venv.old-* build dist ./*.egg-info htmlcov .coverage
rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
find . -name __pycache__ -type d -not -path './runs/*' -exec rm -rf {} +
