"""Turns an episode that lies staged into one that counts.

The order is the safety: videos, rows, the episode's metadata, tasks, statistics, and last ``meta/info.json``, which
counts the episodes. Until that file is replaced, nothing of the new episode exists for a reader.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from svm_robot.data.episode_stats import Stats, column_stats, merge, to_json
from svm_robot.data.files import file_digest, publish, publish_json
from svm_robot.data.layout import DATA, DIGEST, EPISODES, INFO, STATS, TASKS, VIDEO, Row, name_of
from svm_robot.data.tables import to_arrow
from svm_robot.errors import DataError
from svm_robot.recording.recovery import STAGING
from svm_robot.recording.stills import check_written

QUICK = {"compression": "snappy", "use_dictionary": False, "write_statistics": False}
"""Parquet settings: an episode's metadata is one row of some 250 columns, and an arm waits while it is written."""

PICTURES_IN_GROUP = 32
"""Rows of a row group where pictures lie in the data file: no more of them than that need be in memory."""

TASK = "task"
"""Optional entry of a table: the sentence of each row, where an episode has more than one."""

Table = Mapping[str, NDArray[Any] | pa.Array | pa.ChunkedArray]
Rows = dict[str, NDArray[Any] | pa.Array | pa.ChunkedArray]
Extras = Mapping[str, int | float | str]


class Commit:
    """Appends staged episodes to the dataset at ``root``, whose state the arguments describe.

    ``last`` is the metadata row of the last episode, None when there is none. ``durable`` False leaves the fsyncs out:
    for a dataset that is built aside and put on disk as a whole before it gets its name.
    """

    def __init__(
        self,
        root: Path,
        info: dict[str, Any],
        stats: dict[str, Stats],
        tasks: Mapping[str, int],
        last: Row | None,
        durable: bool = True,
    ) -> None:
        self.root, self.info, self.stats, self.last = root, info, stats, last
        self.tasks = dict(tasks)
        """Sentence -> the number that stands for it in the rows; other tools leave gaps in these."""
        self.durable = durable

    @property
    def episodes(self) -> int:
        """Episodes that count."""
        return int(self.info["total_episodes"])

    def save(
        self,
        table: Table,
        videos: Mapping[str, Path],
        task: str,
        extras: Extras,
        picture_stats: Mapping[str, Stats],
        digests: Mapping[str, str] | None = None,
    ) -> int:
        """Publish one episode; it counts, and is on disk, when this returns its index.

        ``table``: column -> (T,) or (T, ...) numbers or an Arrow array of T, without the bookkeeping columns.
        ``videos``: column -> complete file, which is moved. ``picture_stats``: statistics of camera columns.
        ``extras`` go into the episode's metadata. ``digests``: SHA-256 of videos, where it is known already.
        """
        index, start = self.episodes, int(self.info["total_frames"])
        length = length_of(table)
        sentences = [task] * length if TASK not in table else [str(sentence) for sentence in table[TASK]]
        tasks = dict(self.tasks)
        for sentence in sentences:
            tasks.setdefault(sentence, max(tasks.values(), default=-1) + 1)
        numbers = np.array([tasks[sentence] for sentence in sentences])
        rows = self._columns(table, length, {"episode_index": index, "index": start, "task_index": numbers})
        stats = self._stats(rows) | dict(picture_stats)
        row: Row = {"episode_index": index, "tasks": list(dict.fromkeys(sentences)), "length": length}
        row |= self._places(length, start, videos) | dict(extras)
        row |= self._stage(rows, videos, digests or {})
        row = row if self.last is None else like(self.last, row)
        merged = merge(self.stats, stats)
        try:
            self._publish(row, stats, videos)
            if tasks != self.tasks:
                self._publish_tasks(tasks)
            publish_json(to_json(merged), self.root / STATS, durable=self.durable)
        except OSError:
            self._withdraw(row, videos)
            raise
        info = self.info | {
            "total_episodes": index + 1,
            "total_frames": start + length,
            "total_tasks": len(tasks),
            "splits": {"train": f"0:{index + 1}"},
        }
        publish_json(info, self.root / INFO, indent=4, durable=self.durable)
        self.info, self.stats, self.tasks, self.last = info, merged, tasks, row
        return index

    def _columns(self, table: Table, length: int, known: Mapping[str, Any]) -> Rows:
        """All columns of the data file, in the order of the feature table."""
        bookkeeping = {
            "timestamp": np.arange(length) / self.info["fps"],
            "frame_index": np.arange(length),
            "episode_index": np.full(length, known["episode_index"]),
            "index": np.arange(known["index"], known["index"] + length),
            "task_index": known["task_index"],
        }
        rows: Rows = {}
        for key, feature in self.info["features"].items():
            if feature["dtype"] == "video":
                continue
            if key not in table and key not in bookkeeping:
                raise DataError(f"episode {self.episodes} of {self.root}: no values for the column {key}")
            values = bookkeeping[key] if key in bookkeeping else table[key]
            if len(values) != length:
                raise DataError(f"episode {self.episodes} of {self.root}: {key} has {len(values)} of {length} rows")
            if isinstance(values, np.ndarray):
                shape = (length,) if list(feature["shape"]) == [1] else (length, *feature["shape"])
                values = values.astype(feature["dtype"]).reshape(shape)
            rows[key] = values
        return rows

    def _stats(self, rows: Rows) -> dict[str, Stats]:
        """Statistics of the columns of numbers."""
        numbers = {key: values for key, values in rows.items() if isinstance(values, np.ndarray)}
        return {
            key: column_stats(values.reshape(-1, 1) if values.ndim == 1 else values) for key, values in numbers.items()
        }

    def _places(self, length: int, start: int, videos: Mapping[str, Path]) -> Row:
        """Where the episode's files go, and which rows and seconds of them are its own."""
        row = self._next_file("data")
        row |= {"dataset_from_index": start, "dataset_to_index": start + length}
        for key in videos:
            row |= self._next_file(f"videos/{key}")
            row |= {f"videos/{key}/from_timestamp": 0.0, f"videos/{key}/to_timestamp": length / self.info["fps"]}
        return row | self._next_file("meta/episodes")

    def _next_file(self, prefix: str) -> Row:
        """Chunk and file number after those of the last episode."""
        if self.last is None:
            return {f"{prefix}/chunk_index": 0, f"{prefix}/file_index": 0}
        size = int(self.info["chunks_size"])
        number = self.last[f"{prefix}/chunk_index"] * size + self.last[f"{prefix}/file_index"] + 1
        return {f"{prefix}/chunk_index": number // size, f"{prefix}/file_index": number % size}

    def _stage(self, rows: Rows, videos: Mapping[str, Path], known: Mapping[str, str]) -> Row:
        """Write the data file aside; the digests of it and of the videos."""
        staged = self.root / STAGING / "data.parquet"
        staged.parent.mkdir(exist_ok=True)
        arrays = {key: to_arrow(values) if isinstance(values, np.ndarray) else values for key, values in rows.items()}
        written = pa.table(arrays)
        pq.write_table(written, staged, **settings(written))
        check_written(staged, written)
        files = {"data": staged, **videos}
        return {DIGEST + name: known.get(name) or file_digest(path) for name, path in files.items()}

    def _publish(self, row: Row, stats: Mapping[str, Stats], videos: Mapping[str, Path]) -> None:
        """Give the episode's files their names; they do not count before ``meta/info.json`` says so."""
        staging = self.root / STAGING
        described = row | {f"stats/{key}/{name}": value for key, name, value in flat(stats)}
        plain = {key: [value.tolist() if isinstance(value, np.ndarray) else value] for key, value in described.items()}
        pq.write_table(pa.Table.from_pydict(plain), staging / "episode.parquet", **QUICK)
        for key, path in videos.items():
            name = name_of(VIDEO, row, f"videos/{key}", video_key=key)
            publish(path, self.root / name, durable=self.durable)
        publish(staging / "data.parquet", self.root / name_of(DATA, row, "data"), durable=self.durable)
        publish(staging / "episode.parquet", self.root / name_of(EPISODES, row, "meta/episodes"), durable=self.durable)

    def _withdraw(self, row: Row, videos: Mapping[str, Path]) -> None:
        """Remove the files of an episode that was not counted: on a full disk they would only be in the way."""
        names = [name_of(VIDEO, row, f"videos/{key}", video_key=key) for key in videos]
        for name in (*names, name_of(DATA, row, "data"), name_of(EPISODES, row, "meta/episodes")):
            (self.root / name).unlink(missing_ok=True)

    def _publish_tasks(self, tasks: Mapping[str, int]) -> None:
        staged = self.root / STAGING / "tasks.parquet"
        pd.DataFrame({"task_index": [*tasks.values()]}, index=pd.Index([*tasks], name="task")).to_parquet(staged)
        publish(staged, self.root / TASKS, durable=self.durable)


def settings(table: pa.Table) -> dict[str, Any]:
    """Parquet settings of a data file. Pictures are compressed already, and too large to be written in one go."""
    pictures = [field.name for field in table.schema if pa.types.is_struct(field.type)]
    if not pictures:
        return QUICK
    plain = {name: "snappy" for name in table.column_names if name not in pictures}
    return QUICK | {
        "row_group_size": PICTURES_IN_GROUP,
        "compression": plain | {f"{name}.{part}": "none" for name in pictures for part in ("bytes", "path")},
    }


def length_of(table: Table) -> int:
    """Rows of an episode. Raises ``DataError`` for one without."""
    length = max((len(values) for values in table.values()), default=0)
    if length == 0:
        raise DataError("an episode without a single step cannot be saved")
    return length


def like(last: Row, row: Row) -> Row:
    """The row without our own entries that the dataset's older rows lack.

    LeRobot reads all metadata files as one table and refuses a later file with more columns than the first.
    """
    return {key: value for key, value in row.items() if not key.startswith("svm/") or key in last}


def flat(stats: Mapping[str, Stats]) -> list[tuple[str, str, NDArray[Any]]]:
    """Nested statistics as (column, statistic, value)."""
    return [(key, name, value) for key, column in stats.items() for name, value in column.items()]
