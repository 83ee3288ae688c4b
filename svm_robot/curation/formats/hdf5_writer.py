"""Writes HDF5 in robomimic's layout. ``hdf5`` reads it back: the two are a pair, with a version number.

Rewards and dones are those of the labels that count now. ``next_obs`` is not written: there is no observation after
the last action of a real episode (robomimic: ``train.hdf5_load_next_obs = False``). ``mask`` holds one filter key for
each outcome, so that robomimic can train on successes alone.
"""

import contextlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
from PIL import Image

from svm_robot.curation.formats.features import flat_names
from svm_robot.curation.formats.hdf5 import COLUMNS, OURS, SUFFIX, VERSION
from svm_robot.curation.formats.whole import role_of
from svm_robot.curation.rebuild.bake import bake
from svm_robot.curation.rebuild.clips import frames_of
from svm_robot.curation.rebuild.source import Source, SourceEpisode
from svm_robot.data import columns
from svm_robot.data.files import publish
from svm_robot.data.layout import is_picture
from svm_robot.errors import DataError
from svm_robot.recording.commit import Table
from svm_robot.rollout.env import ImageArray
from svm_robot.rollout.episode import Outcome

ROBOMIMIC_GYM = 2
"""robomimic wants to know what sort of simulator a file comes from; this one is only used to build one for rollouts."""
OWN_PLACE = (columns.STATE, columns.ACTION, columns.REWARD, columns.DONE, columns.SUCCESS, columns.EPISODE_UID)
"""Columns that do not go into the group ``columns``."""


def write_hdf5(source: Source, outcomes: Sequence[Outcome | None], path: Path) -> None:
    """One file with all episodes; it appears whole or not at all. ``outcomes``: of each episode, None unlabelled.

    Raises ``DataError`` when an episode has no state or action, or its pictures are not whole.
    """
    staged = path.with_name(f".{path.name}.new")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with h5py.File(staged, "w") as file:
            data = file.create_group("data")
            data.attrs.update(about(source))
            for number, (episode, outcome) in enumerate(zip(source.episodes, outcomes, strict=True)):
                write_demo(data.create_group(f"demo_{number}"), episode, outcome, source.info["features"])
            for kind, numbers in filter_keys(outcomes).items():
                file[f"mask/{kind}"] = np.array([f"demo_{number}" for number in numbers], "S")
        publish(staged, path)
    except OSError as error:  # what the library says goes over several lines
        why = os.strerror(error.errno) if error.errno else " ".join(str(error).split())
        raise DataError(f"{path} could not be written ({why}); nothing was changed") from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            staged.unlink()


def about(source: Source) -> dict[str, Any]:
    """Attributes of the file: robomimic's, and ours beside them."""
    info = source.info
    arguments = {"control_freq": info["fps"], "robots": info.get("robot_type")}
    names = {key: flat_names(info["features"][key].get("names")) or None for key in (columns.STATE, columns.ACTION)}
    return {
        "total": sum(episode.length for episode in source.episodes),
        "env_args": json.dumps({"env_name": source.name, "type": ROBOMIMIC_GYM, "env_kwargs": arguments}),
        OURS: json.dumps({"version": VERSION, "robot_type": info.get("robot_type"), "names": names}),
    }


def write_demo(
    demo: h5py.Group, episode: SourceEpisode, outcome: Outcome | None, features: Mapping[str, Mapping[str, Any]]
) -> None:
    """One episode; its pictures pass through one at a time."""
    table = episode.table()
    demo.attrs.update(
        num_samples=episode.length,
        task=episode.task,
        episode_uid=episode.uid,
        outcome=str(outcome or ""),
        source_episode=f"{episode.source} {episode.source_index}",
    )
    told = {**table, **bake(table, episode.length, outcome)}
    demo["actions"] = numbers(told, columns.ACTION)
    demo["rewards"] = np.asarray(told[columns.REWARD], np.float32).reshape(-1)
    demo["dones"] = np.asarray(told[columns.DONE]).reshape(-1).astype(np.int64)
    demo["obs/state"] = numbers(told, columns.STATE)
    for key, feature in features.items():
        values = table.get(key)
        if feature["dtype"] in ("video", "image"):
            if is_picture(dict(feature), feature["dtype"]):
                write_pictures(demo, f"obs/{role_of(key)}{SUFFIX}", pictures(episode, key, values), episode.length)
        elif isinstance(values, np.ndarray) and values.dtype.kind in "biuf" and key not in OWN_PLACE:
            demo[f"{COLUMNS}/{key}"] = values.reshape(-1) if feature["shape"] == [1] else values


def numbers(table: Table, key: str) -> Any:
    """A vector of each row. Raises ``DataError`` when the dataset has none."""
    if key not in table:
        raise DataError(f"the dataset has no column {key}; robomimic's layout needs it")
    return np.asarray(table[key])


def pictures(episode: SourceEpisode, key: str, stored: Any) -> Iterator[ImageArray]:
    """(H, W, 3) RGB of one camera, from its video or from single pictures inside the rows."""
    if key in episode.clips:
        return frames_of(episode.clips[key])
    if key in episode.frames:
        return episode.frames[key]()
    assert isinstance(stored, pa.Array | pa.ChunkedArray)
    return (np.asarray(Image.open(io.BytesIO(cell["bytes"].as_py())).convert("RGB"), np.uint8) for cell in stored)


def write_pictures(demo: h5py.Group, name: str, frames: Iterator[ImageArray], length: int) -> None:
    """A dataset with one chunk for each picture. Raises ``DataError`` unless there is one for each row."""
    written, target = 0, None
    for frame in frames:
        if target is None:
            size = (length, *frame.shape)
            target = demo.create_dataset(
                name, size, np.uint8, chunks=(1, *frame.shape), compression="gzip", compression_opts=1
            )
        if written < length:
            target[written] = frame
        written += 1
    if written != length:
        raise DataError(f"{demo.name} {name}: {written} pictures for {length} rows")


def filter_keys(outcomes: Sequence[Outcome | None]) -> dict[str, list[int]]:
    """Outcome -> numbers of its episodes."""
    found: dict[str, list[int]] = {}
    for number, outcome in enumerate(outcomes):
        found.setdefault(str(outcome or "unlabelled"), []).append(number)
    return found
