#!/bin/sh
# Make sure that .venv holds what requirements.lock says. Silent and quick when it already does.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
python="$root/.venv/bin/python"

if [ -z "${PYTHON:-}" ] && [ -x "$python" ] && "$python" -I -S "$root/tools/environment.py" --check 2>/dev/null; then
    exit 0
fi
python=$(sh "$root/tools/find_python.sh")
exec "$python" -I "$root/tools/environment.py"
