"""Each part of a session fails or hangs while it is stopped in each way: motors first, and the right exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PARTS = {"policy", "camera close", "save", "dataset close", "leader bus", "follower bus", "display"}
STOPS = {"SIGINT", "SIGINT twice", "SIGTERM", "SIGHUP", "exception"}


@pytest.mark.slow
@pytest.mark.timeout(170)
def test_the_motors_are_safe_in_every_row() -> None:
    command = [sys.executable, str(BENCHMARKS / "shutdown_matrix.py"), "--json", "--jobs=6"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=160)
    rows = json.loads(done.stdout)
    assert {(row["part"], row["kind"], row["stopped by"]) for row in rows} >= {
        (part, kind, stop) for part in PARTS for kind in ("fails", "hangs") for stop in STOPS
    }
    wrong = [row for row in rows if row["safe"] != "yes" or row["exit"] != row["expected"]]
    assert (wrong, done.returncode) == ([], 0), done.stderr[-2000:]
