"""Whether a dataset holds what was acknowledged, sample by sample, for our reader and for LeRobot's."""

import hashlib
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torture_film import Film, kept, length, outcome, picture, state

from svm_robot.curation.check.examine import check_dataset
from svm_robot.curation.mend.repair import plan_repair, repair
from svm_robot.data import load_dataset
from svm_robot.data.layout import read_layout

NEAR = 2.01
"""LeRobot converts colours in another way: its pixels may differ by rounding [0..255]."""


@dataclass(frozen=True)
class Saved:
    """An episode that was acknowledged."""

    episode: int
    uid: int
    outcome: str
    frames: int


def problems(root: Path, pictures: str, saved: Sequence[Saved]) -> list[str]:
    """What our reader finds wrong: with acknowledged episodes, and with any other that counts."""
    dataset, rows = load_dataset(root), read_layout(root).episodes
    found = []
    for one in saved:
        episode = dataset.episodes[one.episode] if one.episode < len(dataset.episodes) else None
        if episode is None or episode.uid != one.uid:
            found.append(f"acknowledged episode {one.episode} is not there")
        elif (str(episode.outcome), len(episode)) != (one.outcome, one.frames):
            found.append(f"episode {one.episode}: {episode.outcome}, {len(episode)} frames; acknowledged was {one}")
    for episode, row in zip(dataset.episodes, rows, strict=True):
        seed = int(row["svm/seed"])
        where = f"episode {episode.index} (seed {seed})"
        if len(episode) != length(seed) or str(episode.outcome) not in (outcome(seed), "aborted", "None"):
            found.append(f"{where}: {len(episode)} frames, {episode.outcome}")
        for step in range(len(episode)):
            if not np.array_equal(episode.state[step], state(seed, step)):
                found.append(f"{where}, step {step}: other joints")
            for role, size in dataset.cameras.items():
                wanted = kept(picture(seed, step, role, size), pictures)
                if not np.array_equal(episode.frames[role][step], wanted):
                    found.append(f"{where}, step {step}: camera {role} shows another picture")
    return found


def lerobot_problems(root: Path, pictures: str, cameras: int) -> list[str]:
    """What LeRobot's own reader finds wrong with the episodes that count."""
    from lerobot.datasets import LeRobotDataset

    rows = read_layout(root).episodes
    if not rows:
        return []
    theirs = LeRobotDataset("local/torture", root=root, video_backend="pyav")
    found, place = [], 0
    if theirs.num_episodes != len(rows):
        found.append(f"LeRobot counts {theirs.num_episodes} of {len(rows)} episodes")
    for row in rows:
        for step in range(row["length"]):
            item = theirs[place]
            place += 1
            where = f"LeRobot: episode {row['episode_index']}, step {step}"
            if not np.array_equal(item["observation.state"].numpy(), state(int(row["svm/seed"]), step)):
                found.append(f"{where}: other joints")
            for role, size in Film(cameras).spec.cameras.items():
                wanted = kept(picture(int(row["svm/seed"]), step, role, size), pictures)
                got = np.moveaxis(item[f"observation.images.{role}"].numpy(), 0, -1) * 255
                if np.abs(got - wanted).max() > NEAR:
                    found.append(f"{where}: camera {role} shows another picture")
    return found


def healed_problems(root: Path, indices: Sequence[int]) -> list[str]:
    """What is wrong after the next recording: its numbers, the whole dataset, what was left lying about."""
    found = []
    counted = len(read_layout(root).episodes)
    if counted != indices[-1] + 1:
        found.append(f"the next recording was acknowledged as episode {indices[-1]}, {counted} count")
    report = check_dataset(root, deep=True)
    if not report.ok:
        found.append(f"data check: {'; '.join(finding.text for finding in report.findings)}")
    return found + left_over(root)


def left_over(root: Path) -> list[str]:
    """Temporary files that should be gone."""
    return [f"left over: {path.relative_to(root)}" for path in [*root.rglob("*.new"), *root.rglob(".recording/*")]]


def repair_problems(root: Path, copy: Path) -> list[str]:
    """Whether repair mends a copy of the torn dataset, and a second repair changes nothing."""
    shutil.copytree(root, copy)
    try:
        repair(plan_repair(copy), time.time)
        once = tree_hash(copy)
        repair(plan_repair(copy), time.time)
        found = [] if tree_hash(copy) == once else ["a second repair changed something"]
        return found if check_dataset(copy, deep=True).ok else [*found, "not whole after a repair"]
    finally:
        shutil.rmtree(copy)


def tree_hash(root: Path) -> str:
    """Hash of every file name and content below a folder."""
    total = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        total.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()
