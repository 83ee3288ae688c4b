"""A short torture: every place where a recording can be killed, and two disks that run full."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def torture(*options: str) -> tuple[int, dict[str, object], str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/torture.py"), "--json", *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.stdout.startswith("{"), done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_nothing_acknowledged_is_ever_lost() -> None:
    code, told, text = torture("--kills=9", "--each=3", "--full=2", "--theirs=8", "--seed=3")
    assert (code, told["bad"]) == (0, 0), text
    kills, disks = told["kills"], told["full disks"]
    assert isinstance(kills, list)
    assert isinstance(disks, list)
    assert (sum(case["died"] for case in kills), len(disks)) == (9, 2)
    assert {case["what"].split()[0] for case in kills if case["died"]} >= {"frame", "encode", "sync", "rename", "label"}
    assert {case["pictures"] for case in kills} == {"video", "png", "jpeg"}


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_what_is_lost_is_noticed(tmp_path: Path) -> None:
    """The torture itself must be able to fail: here the commit forgets an episode that it acknowledged."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "if sys.argv[0].endswith('torture_child.py'):\n"
        "    from svm_robot.recording.commit import Commit\n"
        "    real = Commit.save\n"
        "    def save(self, table, videos, *more):\n"
        "        row = {name: values.copy() for name, values in table.items()}\n"
        "        row['observation.state'][2] += 1\n"
        "        return real(self, row, videos, *more)\n"
        "    Commit.save = save\n"
    )
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/torture.py"), "--json", "--kills=1", "--full=0", "--theirs=0"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    told = json.loads(done.stdout)
    assert (done.returncode, told["bad"]) == (1, 1)
    assert "step 2: other joints" in told["kills"][0]["problems"][0]
