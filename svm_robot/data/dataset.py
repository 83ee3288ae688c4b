"""Reads a whole LeRobot v3 dataset into memory: Parquet in one go, each video file once from front to back."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from svm_robot.data import columns
from svm_robot.data.episodes import EpisodeData
from svm_robot.data.label_view import told_by_columns
from svm_robot.data.labels import LabelLog, snapshot_hash
from svm_robot.data.layout import Row, read_layout
from svm_robot.data.pictures import camera_keys, camera_size, pick, read_pictures
from svm_robot.data.tables import Part, cut, not_finite, read_numbers, read_tasks
from svm_robot.errors import DataError
from svm_robot.rollout.env import ImageArray
from svm_robot.rollout.episode import Outcome


@dataclass(frozen=True)
class Dataset:
    """Recorded episodes and what they were recorded on."""

    root: Path
    episodes: list[EpisodeData]
    joints: tuple[str, ...]
    cameras: Mapping[str, tuple[int, int]]
    """Camera role -> (height, width); also those whose frames were not loaded."""
    rate_hz: float
    robot_type: str
    label_hash: str
    """Hash of the labels these episodes carry: what was trained from them names it."""
    fingerprint: str
    """Hash of states, actions and uids: independent of the folder's name, of labels and of pictures."""

    def grew_from(self, fingerprint: str) -> bool:
        """True when the dataset with this fingerprint is this one, or what it was before more episodes were added."""
        return fingerprint in fingerprints(self.episodes)


def load_dataset(root: Path, frames: bool = True, roles: Collection[str] | None = None) -> Dataset:
    """Load the dataset at ``root``; ``roles`` limits whose pictures are decoded (default: all cameras).

    Datasets from elsewhere work too: without ``svm.*`` columns every frame is a decision, there is no latent, the uid
    is the episode's index and the outcome comes from ``next.success`` where there is one.
    Raises ``DataError`` for what is no v3 dataset, is unfinished, contradicts itself or holds numbers not finite.
    """
    root = Path(root)
    layout = read_layout(root)
    features = layout.info["features"]
    cameras = camera_keys(features)
    wanted = pick(cameras, roles) if frames else {}
    numbers = read_numbers(layout)
    parts = [cut(numbers, row) for row in layout.episodes]
    check_finite(layout.episodes, parts)
    labels = {uid: label.outcome for uid, label in LabelLog(root).current().items()}
    tasks = read_tasks(root) if layout.episodes else {}
    pictures = {role: read_pictures(layout, key) for role, key in wanted.items()}
    episodes = [
        build(row, part, labels, tasks, {role: arrays[position] for role, arrays in pictures.items()})
        for position, (row, part) in enumerate(zip(layout.episodes, parts, strict=True))
    ]
    return Dataset(
        root=root,
        episodes=episodes,
        joints=joint_names(features[columns.STATE]),
        cameras={role: camera_size(features[key]) for role, key in cameras.items()},
        rate_hz=float(layout.info["fps"]),
        robot_type=str(layout.info.get("robot_type") or "unknown"),
        label_hash=snapshot_hash({episode.uid: episode.outcome for episode in episodes}),
        fingerprint=list(fingerprints(episodes))[-1],
    )


def build(
    row: Row, part: Part, labels: Mapping[int, Outcome], tasks: Mapping[int, str], frames: Mapping[str, ImageArray]
) -> EpisodeData:
    """One episode from its rows."""
    index, length = int(row["episode_index"]), int(row["length"])
    uid = int(part[columns.EPISODE_UID][0]) if columns.EPISODE_UID in part else index
    outcome = labels.get(uid, told_by_columns(part))
    latent = part.get(columns.LATENT)
    decision = part.get(columns.DECISION, np.ones(length, bool))
    task = tasks.get(int(part["task_index"][0]), "") if "task_index" in part else ""
    return EpisodeData(
        index=index,
        uid=uid,
        outcome=outcome,
        task=task,
        state=part[columns.STATE].astype(np.float32),
        action=part[columns.ACTION].astype(np.float32),
        decision=decision.astype(bool),
        latent=None if latent is None else latent.astype(np.float32),
        terminated=outcome is Outcome.SUCCESS,
        frames=frames,
        intervention=part[columns.INTERVENTION].astype(bool) if columns.INTERVENTION in part else None,
    )


def joint_names(feature: dict[str, Any]) -> tuple[str, ...]:
    """Names of the state's dimensions; numbered where the dataset names none."""
    names = feature.get("names")
    if isinstance(names, dict):  # {"motors": [...]}, as converted datasets have it
        names = next(iter(names.values()), None)
    if not names:
        return tuple(f"joint_{number}" for number in range(feature["shape"][0]))
    return tuple(str(name) for name in names)


def check_finite(rows: tuple[Row, ...], parts: list[Part]) -> None:
    """Raise ``DataError`` that lists where numbers are not finite."""
    found = [
        place
        for row, part in zip(rows, parts, strict=True)
        for name in (columns.STATE, columns.ACTION, columns.LATENT)
        for place in islice(not_finite(name, row["episode_index"], part.get(name)), 10)
    ]
    if found:
        more = " and more" if len(found) > 10 else ""
        raise DataError(f"the dataset holds numbers that are not finite: {'; '.join(found[:10])}{more}")


def fingerprints(episodes: Iterable[EpisodeData]) -> Iterator[str]:
    """16-digit hashes of the numbers of no episode, the first one, the first two, and so on up to all."""
    digest = hashlib.sha256()
    yield digest.hexdigest()[:16]
    for episode in episodes:
        digest.update(f"{episode.uid} {len(episode)} ".encode())
        digest.update(episode.state.tobytes())
        digest.update(episode.action.tobytes())
        yield digest.hexdigest()[:16]
