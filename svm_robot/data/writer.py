"""Writes a LeRobot v3 dataset so that a kill costs at most the episode in progress.

LeRobot's own writer keeps its Parquet files open over a session: a killed recording loses every episode of it, and
closing and reopening after each one costs half a second. This writer makes one file of each kind for each episode.
Everything is written aside, verified and on disk before it gets its name, and ``meta/info.json``, which counts the
episodes, is replaced last. What a killed writer left beyond that count is set aside by the next ``open``.
"""

import fcntl
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from svm_robot.data import columns
from svm_robot.data.encoder import Encoding, VideoEncoder
from svm_robot.data.episode_stats import Stats, column_stats, merge, to_json
from svm_robot.data.files import publish, publish_json
from svm_robot.data.layout import DATA, EPISODES, INFO, STATS, TASKS, VIDEO, Row, name_of, read_layout
from svm_robot.data.recovery import LOCK, STAGING, is_fresh, load_stats, set_aside
from svm_robot.data.schema import check_same, new_info
from svm_robot.data.tables import to_arrow
from svm_robot.errors import DataError
from svm_robot.rollout.env import EnvSpec, ImageArray

QUICK = {"compression": "snappy", "use_dictionary": False, "write_statistics": False}
"""Parquet settings: an episode's metadata is one row of some 250 columns, and an arm waits while it is written."""


class EpisodeWriter:
    """Appends whole episodes. ``open``, then for each episode ``begin``, ``add``..., ``save`` or ``discard``."""

    def __init__(
        self, root: Path, spec: EnvSpec, latent_dim: int | None = None, encoding: Encoding | None = None
    ) -> None:
        self.root, self.spec, self.latent_dim = root, spec, latent_dim
        self.encoding = encoding or Encoding()
        self.info: dict[str, Any] = {}
        self.stats: dict[str, Stats] = {}
        self.tasks: list[str] = []
        self.last: Row | None = None
        self.set_aside: list[Path] = []
        """Where ``open`` put files of an unfinished episode."""
        self._lock: int | None = None
        self._encoders: dict[str, VideoEncoder] = {}
        self._rows: list[Mapping[str, Any]] = []

    @property
    def episodes(self) -> int:
        """Episodes saved so far, those of earlier sessions included."""
        return int(self.info["total_episodes"])

    def open(self) -> None:
        """Create the dataset, or continue one of the same shape. Raises ``DataError`` when neither is possible."""
        info, fresh = self._new_info(), is_fresh(self.root)
        if not fresh:
            check_same(self.root, self.spec, self.latent_dim)
        self.root.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        try:
            if fresh:
                (self.root / INFO).parent.mkdir(exist_ok=True)
                publish_json(info, self.root / INFO, indent=4)
            self._resume()
        except BaseException:
            self.close()
            raise

    def begin(self) -> None:
        """Start an episode."""
        self.discard()
        rate_hz = int(self.info["fps"])
        for role, size in self.spec.cameras.items():
            path = self.root / STAGING / role / "video.mp4"
            path.parent.mkdir(parents=True)
            self._encoders[role] = VideoEncoder(path, size, rate_hz, self.encoding)
        for encoder in self._encoders.values():
            encoder.start()

    def add(self, row: Mapping[str, Any], frames: Mapping[str, ImageArray]) -> None:
        """Append one row (all columns but the bookkeeping ones) and its frames, which must not change any more."""
        for role, encoder in self._encoders.items():
            encoder.put(frames[role])
        self._rows.append(row)

    def save(self, task: str, extras: Mapping[str, int | str]) -> int:
        """Commit the episode; it is complete, verified and on disk when this returns its index.

        ``extras`` go into the episode's metadata. Raises ``DataError`` when it could not be saved whole; then
        nothing of it counts, and the episodes before it are untouched.
        """
        if not self._rows:
            raise DataError("an episode without a single step cannot be saved")
        try:
            pictures = {role: encoder.finish(len(self._rows)) for role, encoder in self._encoders.items()}
            return self._commit(task, extras, pictures)
        except OSError as error:
            raise DataError(f"episode {self.episodes} could not be saved in {self.root}: {error}") from error
        finally:
            self.discard()

    def discard(self) -> None:
        """Drop the episode in progress, if there is one."""
        for encoder in self._encoders.values():
            encoder.cancel()
        self._encoders, self._rows = {}, []
        if self._lock is not None:
            shutil.rmtree(self.root / STAGING, ignore_errors=True)

    def close(self) -> None:
        """Drop an episode in progress and let others write. May be called twice."""
        if self._lock is not None:
            self.discard()
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _new_info(self) -> dict[str, Any]:
        info = new_info(self.spec, self.latent_dim)
        for role, (height, width) in self.spec.cameras.items():
            details = self.encoding.feature_info(height, width, info["fps"])
            info["features"][columns.IMAGES + role]["info"] = details
        return info

    def _take_lock(self) -> None:
        self._lock = os.open(self.root / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            self._lock = None
            raise DataError(
                f"another program is recording into {self.root}; stop it or choose another folder"
            ) from error

    def _resume(self) -> None:
        shutil.rmtree(self.root / STAGING, ignore_errors=True)
        layout = read_layout(self.root)
        self.info, self.last = layout.info, layout.episodes[-1] if layout.episodes else None
        about = sorted({layout.episodes_file(row) for row in layout.episodes})
        counted = {*about, *(layout.data_file(row) for row in layout.episodes)}
        counted |= {layout.video_file(row, key) for row in layout.episodes for key in layout.video_keys()}
        self.set_aside = set_aside(self.root, counted)
        self.stats = load_stats(self.root, about, layout.info)
        if self.last is not None:
            self.tasks = list(pd.read_parquet(self.root / TASKS).sort_values("task_index").index)

    def _commit(self, task: str, extras: Mapping[str, int | str], pictures: Mapping[str, Stats]) -> int:
        index, length, start = self.episodes, len(self._rows), int(self.info["total_frames"])
        tasks = self.tasks if task in self.tasks else [*self.tasks, task]
        table = self._columns(index, start, tasks.index(task))
        stats = {key: column_stats(values.reshape(length, -1)) for key, values in table.items()}
        stats |= {columns.IMAGES + role: values for role, values in pictures.items()}
        row = self._episode_row(index, task, length, start) | dict(extras)
        self._stage(table, row | {f"stats/{key}/{name}": value for key, name, value in flat(stats)})
        self._publish(row)
        if tasks != self.tasks:
            self._publish_tasks(tasks)
        merged = merge(self.stats, stats)
        publish_json(to_json(merged), self.root / STATS)
        info = self.info | {
            "total_episodes": index + 1,
            "total_frames": start + length,
            "total_tasks": len(tasks),
            "splits": {"train": f"0:{index + 1}"},
        }
        publish_json(info, self.root / INFO, indent=4)
        self.info, self.stats, self.tasks, self.last = info, merged, tasks, row
        return index

    def _columns(self, index: int, start: int, task_index: int) -> dict[str, NDArray[Any]]:
        """Column name -> (T,) or (T, n), in the order of the feature table."""
        length, rate_hz = len(self._rows), self.info["fps"]
        bookkeeping = {
            "timestamp": np.arange(length) / rate_hz,
            "frame_index": np.arange(length),
            "episode_index": np.full(length, index),
            "index": np.arange(start, start + length),
            "task_index": np.full(length, task_index),
        }
        table = {}
        for key, feature in self.info["features"].items():
            if feature["dtype"] == "video":
                continue
            values = bookkeeping[key] if key in bookkeeping else np.stack([row[key] for row in self._rows])
            shape = (length,) if list(feature["shape"]) == [1] else (length, *feature["shape"])
            table[key] = values.astype(feature["dtype"]).reshape(shape)
        return table

    def _episode_row(self, index: int, task: str, length: int, start: int) -> Row:
        row: Row = {"episode_index": index, "tasks": [task], "length": length}
        row |= self._next_file("data")
        row |= {"dataset_from_index": start, "dataset_to_index": start + length}
        for role in self.spec.cameras:
            key = f"videos/{columns.IMAGES}{role}"
            row |= self._next_file(key)
            row |= {f"{key}/from_timestamp": 0.0, f"{key}/to_timestamp": length / self.info["fps"]}
        return row | self._next_file("meta/episodes")

    def _next_file(self, prefix: str) -> Row:
        """Chunk and file number after those of the last episode."""
        if self.last is None:
            return {f"{prefix}/chunk_index": 0, f"{prefix}/file_index": 0}
        size = int(self.info["chunks_size"])
        number = self.last[f"{prefix}/chunk_index"] * size + self.last[f"{prefix}/file_index"] + 1
        return {f"{prefix}/chunk_index": number // size, f"{prefix}/file_index": number % size}

    def _stage(self, table: Mapping[str, NDArray[Any]], row: Row) -> None:
        """Write the episode's two Parquet files aside."""
        staging = self.root / STAGING
        staging.mkdir(exist_ok=True)
        arrays = {key: to_arrow(values) for key, values in table.items()}
        pq.write_table(pa.table(arrays), staging / "data.parquet", **QUICK)
        plain = {key: [value.tolist() if isinstance(value, np.ndarray) else value] for key, value in row.items()}
        pq.write_table(pa.Table.from_pydict(plain), staging / "episode.parquet", **QUICK)

    def _publish(self, row: Row) -> None:
        """Give the episode's files their names; they do not count before ``meta/info.json`` says so."""
        staging = self.root / STAGING
        for role in self.spec.cameras:
            key = columns.IMAGES + role
            publish(staging / role / "video.mp4", self.root / name_of(VIDEO, row, f"videos/{key}", video_key=key))
        publish(staging / "data.parquet", self.root / name_of(DATA, row, "data"))
        publish(staging / "episode.parquet", self.root / name_of(EPISODES, row, "meta/episodes"))

    def _publish_tasks(self, tasks: list[str]) -> None:
        staged = self.root / STAGING / "tasks.parquet"
        pd.DataFrame({"task_index": range(len(tasks))}, index=pd.Index(tasks, name="task")).to_parquet(staged)
        publish(staged, self.root / TASKS)


def flat(stats: Mapping[str, Stats]) -> list[tuple[str, str, NDArray[Any]]]:
    """Nested statistics as (column, statistic, value)."""
    return [(key, name, value) for key, column in stats.items() for name, value in column.items()]
