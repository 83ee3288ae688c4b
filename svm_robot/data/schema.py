"""Which columns a recording has, and how an existing dataset differs from what a rig would record."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svm_robot.data import columns
from svm_robot.data.layout import CHUNK_SIZE, DATA, VERSION, VIDEO, read_info
from svm_robot.errors import DataError
from svm_robot.rollout.env import EnvSpec

Feature = dict[str, Any]

BOOKKEEPING: dict[str, str] = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
"""Columns every LeRobot dataset has; filled by the writer."""


def whole_rate(rate_hz: float) -> int:
    """The rate as LeRobot stores it. Raises ``DataError`` for a rate that is no whole number of Hz."""
    if rate_hz < 1 or rate_hz != int(rate_hz):
        raise DataError(f"a LeRobot dataset needs a whole number of Hz, got a control rate of {rate_hz} Hz")
    return int(rate_hz)


def features(spec: EnvSpec, latent_dim: int | None = None) -> dict[str, Feature]:
    """LeRobot feature table of what a rig records; a latent column only where the policy has a latent."""
    joints = list(spec.joints)
    table: dict[str, Feature] = {
        columns.STATE: vector("float32", len(joints), joints),
        columns.ACTION: vector("float32", len(joints), joints),
        columns.REQUESTED: vector("float32", len(joints), joints),
    }
    if latent_dim is not None:
        table[columns.LATENT] = vector("float32", latent_dim)
    for role, (height, width) in spec.cameras.items():
        shape = [height, width, 3]
        table[columns.IMAGES + role] = {"dtype": "video", "shape": shape, "names": ["height", "width", "channels"]}
        table[columns.FRAME_TIME + role] = vector("float64", 1)
        table[columns.FRESH + role] = vector("bool", 1)
    for name, dtype in (
        (columns.REWARD, "float32"),
        (columns.DONE, "bool"),
        (columns.SUCCESS, "bool"),
        (columns.TRUNCATED, "bool"),
        (columns.CLIPPED, "bool"),
        (columns.INTERVENTION, "bool"),
        (columns.DECISION, "bool"),
        (columns.SOURCE, "int64"),
        (columns.EPISODE_UID, "int64"),
        (columns.STATE_TIME, "float64"),
        *BOOKKEEPING.items(),
    ):
        table[name] = vector(dtype, 1)
    return table


def vector(dtype: str, length: int, names: list[str] | None = None) -> Feature:
    """A LeRobot feature of one dimension."""
    return {"dtype": dtype, "shape": [length], "names": names}


def new_info(spec: EnvSpec, latent_dim: int | None) -> dict[str, Any]:
    """Content of ``meta/info.json`` of a dataset without episodes, as a rig would record it."""
    return empty_info(whole_rate(spec.rate_hz), features(spec, latent_dim), bool(spec.cameras), spec.robot_type)


def empty_info(
    rate_hz: int, features: Mapping[str, Feature], has_cameras: bool, robot_type: str | None
) -> dict[str, Any]:
    """Content of ``meta/info.json`` of a dataset without episodes."""
    return {
        "codebase_version": VERSION,
        "fps": rate_hz,
        "features": dict(features),
        "total_episodes": 0,
        "total_frames": 0,
        "total_tasks": 0,
        "chunks_size": CHUNK_SIZE,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "data_path": DATA,
        "video_path": VIDEO if has_cameras else None,
        "robot_type": robot_type,
        "splits": {},
    }


def check_same(root: Path, spec: EnvSpec, latent_dim: int | None = None) -> None:
    """Raise ``DataError`` that lists everything in which the dataset at ``root`` differs from the rig."""
    differences = compare(read_info(root), new_info(spec, latent_dim))
    if differences:
        raise DataError(
            f"{root} holds recordings of another shape: {'; '.join(differences)}. "
            "Record into another folder, or use the rig it was recorded with"
        )


def compare(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Differences in words, the dataset's side first."""
    found = [
        f"{what} {old.get(key)!r} in the dataset, {new.get(key)!r} on the rig"
        for key, what in (("robot_type", "robot"), ("fps", "rate [Hz]"))
        if old.get(key) != new.get(key)
    ]
    theirs, ours = old["features"], new["features"]
    found += compare_joints(theirs, ours)
    found += compare_cameras(theirs, ours)
    told = {columns.STATE, columns.ACTION, columns.REQUESTED}
    for key in sorted({key for key in {*theirs, *ours} - told if compared_alone(key, theirs, ours)}):
        before, after = describe(theirs.get(key)), describe(ours.get(key))
        if before != after:
            found.append(f"column {key}: {before} in the dataset, {after} on the rig")
    return found


def compared_alone(key: str, theirs: dict[str, Feature], ours: dict[str, Feature]) -> bool:
    """False for pictures, and for what belongs to a camera that only one side has: it is named already."""
    if key.startswith(columns.IMAGES):
        return False
    for prefix in (columns.FRAME_TIME, columns.FRESH):
        if key.startswith(prefix):
            picture = columns.IMAGES + key.removeprefix(prefix)
            return picture in theirs and picture in ours
    return True


def compare_joints(theirs: dict[str, Feature], ours: dict[str, Feature]) -> list[str]:
    """Differences in the joint vectors."""
    found = []
    for key in (columns.STATE, columns.ACTION, columns.REQUESTED):
        before, after = theirs.get(key), ours.get(key)
        if before is None or after is None:
            if before is not after:
                found.append(f"column {key}: missing {'in the dataset' if before is None else 'on the rig'}")
        elif list(before["shape"]) != list(after["shape"]) or before.get("names") != after["names"]:
            found.append(f"joints of {key}: {before.get('names')} in the dataset, {after['names']} on the rig")
    return found


def compare_cameras(theirs: dict[str, Feature], ours: dict[str, Feature]) -> list[str]:
    """Differences in cameras, by role."""
    found = []
    for key in sorted({key for key in {*theirs, *ours} if key.startswith(columns.IMAGES)}):
        role = key.removeprefix(columns.IMAGES)
        before, after = theirs.get(key), ours.get(key)
        if before is None:
            found.append(f"camera {role}: only on the rig")
        elif after is None:
            found.append(f"camera {role}: only in the dataset")
        elif list(before["shape"]) != list(after["shape"]):
            (old_h, old_w, *_), (new_h, new_w, *_) = before["shape"], after["shape"]
            found.append(f"camera {role}: {old_w}x{old_h} in the dataset, {new_w}x{new_h} on the rig")
    return found


def describe(feature: Feature | None) -> str:
    """A column in words."""
    if feature is None:
        return "missing"
    return f"{feature['dtype']} x {'x'.join(map(str, feature['shape'])) or 1}"
