"""The virtual robot with small pictures and episodes of one second, and the verbs called as a person types them."""

import io
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from svm_robot.scripts.main import main

RIG = """
robot:
  type: virtual_so101
  link: lockstep
  task: place
  cameras:
{cameras}rate_hz: 10
episode_s: 1
task: Put the red cube into the blue disc
"""


def tiny_rig(folder: Path, **cameras: int) -> Path:
    """Write a rig file into ``folder``; ``cameras``: role -> side of its pictures, other than two of 32 pixels."""
    sides = cameras or {"front": 32, "wrist": 32}
    rows = [f"    {role}: {{type: virtual, width: {side}, height: {side}, fps: 10}}\n" for role, side in sides.items()]
    path = folder / ("rig.yaml" if not cameras else f"{'_'.join(f'{role}{side}' for role, side in sides.items())}.yaml")
    path.write_text(RIG.format(cameras="".join(rows)))
    return path


def svm_robot(*words: object) -> str:
    """Run a verb that must succeed; what it printed."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = main([str(word) for word in words])
    assert code == 0, out.getvalue()
    return out.getvalue()


def call_half_of_them_successes(dataset: Path, episodes: int) -> None:
    """A policy of a few steps never succeeds by itself, and a reward needs both outcomes."""
    for episode in range(0, episodes, 2):
        svm_robot("label", dataset, f"--episode={episode}", "--set=success", "--by=ada")


@contextmanager
def child_of_ours(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A verb in a process of its own, which hears Ctrl-C; it has ended when the block is left."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # children of a shell's background job ignore it
    try:
        command = [sys.executable, "-m", "svm_robot", *words]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    with child:
        try:
            yield child
        finally:
            child.kill()
