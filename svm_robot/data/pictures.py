"""The pictures of a dataset as uint8 arrays, episode by episode."""

import io
from collections.abc import Collection
from typing import Any

import numpy as np
from PIL import Image

from svm_robot.data import columns
from svm_robot.data.layout import Layout, Row, is_picture
from svm_robot.data.tables import read_rows
from svm_robot.data.video import read_frames
from svm_robot.errors import DataError
from svm_robot.rollout.env import ImageArray


def camera_keys(features: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Camera role -> column name of every colour camera."""
    keys = [key for key, feature in features.items() if is_picture(feature, "video") or is_picture(feature, "image")]
    return {key.removeprefix(columns.IMAGES).removeprefix("observation."): key for key in keys}


def camera_size(feature: dict[str, Any]) -> tuple[int, int]:
    """(height, width); the shape's order is told by its names."""
    shape, names = list(feature["shape"]), feature.get("names") or []
    channels_first = bool(names) and names[0] in ("channel", "channels")
    return (shape[1], shape[2]) if channels_first else (shape[0], shape[1])


def pick(cameras: dict[str, str], roles: Collection[str] | None) -> dict[str, str]:
    """The wanted cameras. Raises ``DataError`` for a role the dataset does not have."""
    unknown = sorted(set(roles or ()) - set(cameras))
    if unknown:
        raise DataError(f"no camera {', '.join(unknown)} in the dataset; it has {', '.join(cameras) or 'no cameras'}")
    return cameras if roles is None else {role: cameras[role] for role in roles}


def read_pictures(layout: Layout, key: str) -> list[ImageArray]:
    """(T, H, W, 3) RGB of one camera for every episode, in the order of ``layout.episodes``."""
    feature = layout.info["features"][key]
    if feature["dtype"] == "image":
        return from_table(layout, key, camera_size(feature))
    arrays = blank(layout, camera_size(feature))
    by_file: dict[str, list[int]] = {}
    for position, row in enumerate(layout.episodes):
        by_file.setdefault(str(layout.video_file(row, key)), []).append(position)
    for positions in by_file.values():
        fill(layout, key, positions, arrays)
    return arrays


def blank(layout: Layout, size: tuple[int, int]) -> list[ImageArray]:
    """Black pictures for every row of every episode."""
    return [np.zeros((row["length"], *size, 3), np.uint8) for row in layout.episodes]


def fill(layout: Layout, key: str, positions: list[int], arrays: list[ImageArray]) -> None:
    """Decode one file and put its frames where they belong. Raises ``DataError`` for a row without its frame."""
    rate_hz = float(layout.info["fps"])
    rows = [layout.episodes[position] for position in positions]
    places: dict[int, tuple[int, int]] = {}
    for position, row in zip(positions, rows, strict=True):
        first = first_frame(row, key, rate_hz)
        places |= {first + frame: (position, frame) for frame in range(row["length"])}
    for number, frame in read_frames(layout.video_file(rows[0], key), rate_hz):
        place = places.pop(number, None)
        if place is None:
            continue
        position, index = place
        if frame.shape != arrays[position].shape[1:]:
            raise DataError(f"camera {key}: a frame of shape {frame.shape}, expected {arrays[position].shape[1:]}")
        arrays[position][index] = frame
    if places:
        position, index = min(places.values())
        episode = layout.episodes[position]["episode_index"]
        raise DataError(
            f"camera {key}: {len(places)} rows have no frame, the first is episode {episode}, frame {index}"
        )


def first_frame(row: Row, key: str, rate_hz: float) -> int:
    """Number of the episode's first frame in its video file."""
    start_s = float(row[f"videos/{key}/from_timestamp"])
    return round(start_s * rate_hz)


def from_table(layout: Layout, key: str, size: tuple[int, int]) -> list[ImageArray]:
    """The same for a camera stored as single pictures inside the data files."""
    table = read_rows(layout, [key, "episode_index", "frame_index"])
    arrays = blank(layout, size)
    columns_ = (table["episode_index"].to_pylist(), table["frame_index"].to_pylist(), table[key].to_pylist())
    for episode, frame, stored in zip(*columns_, strict=True):
        if episode < len(arrays):
            arrays[episode][frame] = np.asarray(Image.open(io.BytesIO(stored["bytes"])).convert("RGB"))
    return arrays
