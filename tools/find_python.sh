#!/bin/sh
# Print the path of a Python that can carry this project, or say what was tried and how to get one (exit code 1).
# Only running a candidate shows whether it works: a version manager's shim may exist and still fail.
# PYTHON=/path/to/python names one; then nothing else is tried.
set -u

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
have_uv=0
command -v uv >/dev/null 2>&1 && have_uv=1
tried=""

# Runs inside the candidate (any Python since 2.7): fit or not, its version, and the interpreter behind a virtual environment.
probe='
import sys
version = "%d.%d.%d" % sys.version_info[:3]
why = "ok"
if sys.version_info < (3, 12):
    why = "too old"
elif sys.implementation.name != "cpython":
    why = "not CPython"
elif sys.argv[1] != "1":
    try:
        import ensurepip, venv
    except ImportError:
        why = "without venv; on Debian: apt install python%d.%d-venv" % sys.version_info[:2]
print(why)
print(version)
print(getattr(sys, "_base_executable", None) or sys.executable)
'

# try COMMAND: print its interpreter and succeed, or remember why not.
try() {
    answer=$("$1" -c "$probe" "$have_uv" 2>/dev/null) || {
        remember "$1: does not run"
        return 1
    }
    why=${answer%%
*}
    rest=${answer#*
}
    version=${rest%%
*}
    if [ "$why" = ok ]; then
        printf '%s\n' "${rest#*
}"
        return 0
    fi
    remember "$1: $version, $why"
    return 1
}

remember() {
    tried="$tried
  $1"
}

# on_path NAME: try each NAME on PATH in turn, for an old one may hide a newer one.
on_path() {
    saved=$IFS
    IFS=:
    for folder in $PATH; do
        IFS=$saved
        if [ -f "$folder/$1" ] && [ -x "$folder/$1" ]; then
            try "$folder/$1" && return 0
        fi
    done
    IFS=$saved
    return 1
}

search() {
    # the interpreter of an environment that is already here: a changed lock must not change the Python
    [ -x "$root/.venv/bin/python" ] && try "$root/.venv/bin/python" && return 0
    # 3.12 first: the lock is tested there
    for name in python3.12 python3.13 python3.14 python3 python; do
        on_path "$name" && return 0
    done
    versions=$(pyenv root 2>/dev/null) || versions=${PYENV_ROOT:-${HOME:-}/.pyenv}
    for candidate in "$versions"/versions/3.12*/bin/python "$versions"/versions/3.1[3-9]*/bin/python; do
        [ -x "$candidate" ] && try "$candidate" && return 0
    done
    if [ "$have_uv" = 1 ]; then
        candidate=$(uv python find --system --no-python-downloads '>=3.12' 2>/dev/null) && try "$candidate" && return 0
    fi
    return 1
}

give_up() {
    {
        echo "setup: svm-robot needs Python 3.12 or newer, and $1"
        echo "tried:${tried:-
  nothing: no python, pyenv or uv on PATH}"
        echo "Get one, then call make again:"
        echo "  Debian, Ubuntu   apt install python3.12 python3.12-venv   (or python3.13, where the release has that)"
        echo "  anywhere         pip install uv && uv python install 3.12"
        echo "  pyenv            pyenv install 3.12"
        echo "or name one:       make setup PYTHON=/path/to/python3.12"
    } >&2
    exit 1
}

if [ -n "${PYTHON:-}" ]; then
    try "$PYTHON" || give_up "PYTHON=$PYTHON is none."
else
    search || give_up "none was found."
fi
