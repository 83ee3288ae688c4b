"""What is in a dataset, in figures: episodes, outcomes, cameras, ranges of the joints, and how it kept time."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from svm_robot.curation.rebuild.rows import RowReader
from svm_robot.data import columns
from svm_robot.data.dataset import joint_names
from svm_robot.data.label_view import read_view
from svm_robot.data.layout import Layout, read_layout
from svm_robot.data.pictures import camera_keys, camera_size
from svm_robot.data.tables import read_tasks

Table = Mapping[str, Any]


@dataclass(frozen=True)
class CameraFigures:
    """One camera."""

    height: int
    width: int
    kept_as: str
    """``h264 yuv444p``, or ``pictures`` for single ones inside the rows."""
    bytes: int
    """On disk, all episodes together."""
    rate_hz: float | None
    """Pictures it really delivered per second, by their capture times; None where these were not recorded."""


@dataclass(frozen=True)
class RangeFigures:
    """The range of one number over all rows, in the units it was recorded in."""

    column: str
    name: str
    least: float
    greatest: float

    @property
    def constant(self) -> bool:
        """It never changed."""
        return self.least == self.greatest


@dataclass(frozen=True)
class TimeFigures:
    """How one episode kept time, by the times its joints were read."""

    episode: int
    rate_hz: float
    worst_gap_s: float


@dataclass(frozen=True)
class DatasetFigures:
    """Everything at once."""

    root: str
    robot_type: str
    rate_hz: float
    """The rate asked for."""
    episodes: int
    frames: int
    minutes: float
    """At the rate asked for."""
    outcomes: Mapping[str, int]
    tasks: Mapping[str, int]
    """Sentence -> episodes."""
    cameras: Mapping[str, CameraFigures]
    ranges: tuple[RangeFigures, ...]
    """Of every dimension of state and action."""
    clip_rate: float | None
    """Share of the rows whose action was clipped on the way to the motors; None where that was not recorded."""
    intervention_rate: float | None
    """Share of the rows in which a human acted beside a policy or a script."""
    times: tuple[TimeFigures, ...]
    """One for each episode of two steps and more; empty where no times were recorded."""


def dataset_figures(root: Path) -> DatasetFigures:
    """Read all rows (no picture is decoded). Raises ``DataError`` for what is no v3 dataset or is damaged."""
    layout = read_layout(root)
    sentences = read_tasks(root) if layout.episodes else {}
    reader, tally = RowReader(layout, sentences), Tally()
    for row in layout.episodes:
        tally.add(int(row["episode_index"]), reader.numbers(row), reader.task_of(row))
    rate_hz, frames = float(layout.info["fps"]), sum(int(row["length"]) for row in layout.episodes)
    features = layout.info["features"]
    return DatasetFigures(
        root=str(root),
        robot_type=str(layout.info.get("robot_type") or "unknown"),
        rate_hz=rate_hz,
        episodes=len(layout.episodes),
        frames=frames,
        minutes=frames / rate_hz / 60,
        outcomes=dict(read_view(root).counts),
        tasks=dict(tally.tasks),
        cameras={role: camera_figures(layout, key, tally.rate_of(role)) for role, key in camera_keys(features).items()},
        ranges=tuple(ranges(features, tally.extremes)),
        clip_rate=tally.share(columns.CLIPPED),
        intervention_rate=tally.share(columns.INTERVENTION),
        times=tuple(tally.times),
    )


class Tally:
    """Sums over episodes, so that none is kept in memory."""

    def __init__(self) -> None:
        self.tasks: Counter[str] = Counter()
        self.extremes: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {}
        self.times: list[TimeFigures] = []
        self._true: dict[str, tuple[int, int]] = {}
        self._shown: dict[str, tuple[int, float]] = {}

    def add(self, episode: int, table: Table, task: str) -> None:
        """One more episode."""
        self.tasks[task] += 1
        for name in (columns.STATE, columns.ACTION):
            if name in table:
                self._extend(name, table[name].reshape(len(table[name]), -1))
        for name in (columns.CLIPPED, columns.INTERVENTION):
            if name in table:
                true, rows = self._true.get(name, (0, 0))
                self._true[name] = (true + int(table[name].sum()), rows + len(table[name]))
        for name, values in table.items():
            if name.startswith(columns.FRAME_TIME):
                shown, seconds = self._shown.get(name, (0, 0.0))
                more = len(np.unique(values)) - 1
                self._shown[name] = (shown + more, seconds + float(values.max() - values.min()))
        gaps = np.diff(table[columns.STATE_TIME]) if columns.STATE_TIME in table else np.empty(0)
        if len(gaps) and gaps.mean() > 0:
            self.times.append(TimeFigures(episode, float(1 / gaps.mean()), float(gaps.max())))

    def _extend(self, name: str, values: NDArray[Any]) -> None:
        least, greatest = values.min(0), values.max(0)
        if name in self.extremes:
            least = np.minimum(least, self.extremes[name][0])
            greatest = np.maximum(greatest, self.extremes[name][1])
        self.extremes[name] = (least, greatest)

    def share(self, name: str) -> float | None:
        """Share of the rows in which a column is true."""
        true, rows = self._true.get(name, (0, 0))
        return true / rows if rows else None

    def rate_of(self, role: str) -> float | None:
        """Different pictures per second of a camera."""
        shown, seconds = self._shown.get(columns.FRAME_TIME + role, (0, 0.0))
        return shown / seconds if seconds > 0 else None


def ranges(features: dict[str, Any], extremes: Mapping[str, tuple[NDArray[Any], NDArray[Any]]]) -> list[RangeFigures]:
    """Every dimension by its name."""
    return [
        RangeFigures(column, name, float(least), float(greatest))
        for column, (leasts, greatests) in extremes.items()
        for name, least, greatest in zip(joint_names(features[column]), leasts, greatests, strict=True)
    ]


def camera_figures(layout: Layout, key: str, rate_hz: float | None) -> CameraFigures:
    """One camera's size and what it costs on disk."""
    feature = layout.info["features"][key]
    height, width = camera_size(feature)
    if feature["dtype"] == "video":
        details = feature.get("info") or {}
        words = [str(details[name]) for name in ("video.codec", "video.pix_fmt") if name in details]
        size = sum(file.stat().st_size for file in {layout.video_file(row, key) for row in layout.episodes})
        return CameraFigures(height, width, " ".join(words) or "video", size, rate_hz)
    size = sum(column_size(file, key) for file in {layout.data_file(row) for row in layout.episodes})
    return CameraFigures(height, width, "pictures", size, rate_hz)


def column_size(file: Path, key: str) -> int:
    """Bytes of one column inside a Parquet file."""
    about = pq.read_metadata(file)
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema.startswith(f"{key}."))
