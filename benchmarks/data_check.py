"""How long a dataset is examined: by digest, frame by frame, and by LeRobot's loader reading every item.

    python benchmarks/data_check.py [--episodes=200] [--json]

The dataset is made here by our writer: two cameras of 64x64, 40 steps an episode. LeRobot's side opens it and reads
each item, pictures included: what a user would do who wants to know whether everything is there.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from lerobot.datasets import LeRobotDataset
from recording_speed import Spec, row, scene
from table import Cell, show

from svm_robot.curation.check.examine import check_dataset
from svm_robot.data import columns
from svm_robot.recording.writer import EpisodeWriter

STEPS = 40


def make(root: Path, episodes: int) -> None:
    """A dataset whose pictures differ from row to row."""
    rows, pictures = [row(number) for number in range(STEPS)], [scene(64, 64, number) for number in range(STEPS)]
    with EpisodeWriter(root, Spec()) as writer:
        for episode in range(episodes):
            writer.begin()
            for values, picture in zip(rows, pictures, strict=True):
                writer.add({**values, columns.EPISODE_UID: episode}, {"front": picture, "wrist": picture})
            writer.save("task", {})


def ours(root: Path, deep: bool) -> None:
    """Examine, and insist that nothing was found."""
    report = check_dataset(root, deep)
    assert report.ok, report.findings


def lerobots(root: Path) -> None:
    """Open and read everything."""
    dataset = LeRobotDataset("local/benchmark", root=root, video_backend="pyav")
    for index in range(len(dataset)):
        dataset[index]


def measured(what: str, episodes: int, action: Callable[[], None]) -> dict[str, Cell]:
    """One row of the table."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"what": what, "seconds": wall, "cpu_s": cpu, "ms_per_episode": 1e3 * wall / episodes}


def main() -> None:
    """Make, examine, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--episodes", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root, episodes = Path(name) / "d", options.episodes
        rows = [
            measured("recorded by us", episodes, lambda: make(root, episodes)),
            measured("data check", episodes, lambda: ours(root, deep=False)),
            measured("data check --deep", episodes, lambda: ours(root, deep=True)),
            measured("LeRobot reads every item", episodes, lambda: lerobots(root)),
        ]
    show(rows, options.json)


if __name__ == "__main__":
    main()
