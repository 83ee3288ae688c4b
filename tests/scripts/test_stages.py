"""Children of the demo end with it."""

import subprocess
import sys

import pytest

from svm_robot.scripts import stages

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"


def test_a_child_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "PATIENCE_S", 0.1)
    with subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()  # it is deaf from here on
        stages.end_all([child])
        assert child.returncode == -9


def test_a_child_that_stops_is_left_to_it() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        stages.end_all([child])
        assert child.returncode == -15
