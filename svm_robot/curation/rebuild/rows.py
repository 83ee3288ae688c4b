"""The rows of single episodes of a v3 dataset, however many share a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from svm_robot.data.episode_stats import QUANTILES, Stats, from_json
from svm_robot.data.files import file_digest
from svm_robot.data.layout import DIGEST, Layout, Row, read_parquet
from svm_robot.data.schema import BOOKKEEPING
from svm_robot.data.tables import to_numpy
from svm_robot.errors import DataError
from svm_robot.recording.commit import TASK
from svm_robot.recording.recovery import nested

CAMERAS = ("video", "image")
NUMBERS = ("float", "int", "uint", "bool")

type Values = NDArray[Any] | pa.Array


class RowReader:
    """Reads one episode after the other; the numbers of the file in hand are kept, its pictures never."""

    def __init__(self, layout: Layout, tasks: Mapping[int, str]) -> None:
        self.layout, self.tasks = layout, tasks
        features: Mapping[str, dict[str, Any]] = layout.info["features"]
        wanted = [key for key, feature in features.items() if key not in BOOKKEEPING and feature["dtype"] != "video"]
        self.pictures = [key for key in wanted if features[key]["dtype"] == "image"]
        self.plain = [key for key in wanted if key not in self.pictures]
        self._file: Path | None = None
        self._table: pa.Table | None = None
        self._places: dict[int, NDArray[np.int64]] = {}
        self._about: Path | None = None
        self._described = pa.table({})
        self._lines: list[int] = []

    def read(self, row: Row) -> dict[str, Values]:
        """Column -> its values in one episode; ``commit.TASK`` too where the task changes within it.

        Raises ``DataError`` for rows that are not what was saved, by the digest of their file where one was noted.
        """
        file, noted = self.layout.data_file(row), row.get(DIGEST + "data")
        if noted and file.is_file() and file_digest(file) != noted:
            raise DataError(f"{file} is not what was saved: its digest is another one; the file is damaged")
        values = self.numbers(row)
        if self.pictures:
            values |= self._pictures(row)
        sentences = self._sentences(row)
        if len(set(sentences)) > 1:
            values[TASK] = pa.array(sentences)
        return values

    def numbers(self, row: Row) -> dict[str, Values]:
        """The same without pictures and task."""
        part = self._rows(row)
        return {name: plain(part[name], self.layout.info["features"][name]) for name in self.plain}

    def task_of(self, row: Row) -> str:
        """The sentence of an episode's first row."""
        return self._sentences(row)[0]

    def _sentences(self, row: Row) -> list[str]:
        numbers = self._rows(row)["task_index"].to_pylist()
        unknown = sorted(set(numbers) - set(self.tasks))
        if unknown:
            raise DataError(f"{self.layout.root}: episode {row['episode_index']} names unknown task {unknown[0]}")
        return [self.tasks[number] for number in numbers]

    def _rows(self, row: Row) -> pa.Table:
        """Rows of one episode in order. Raises ``DataError`` when they are not what its metadata promises."""
        file, index = self.layout.data_file(row), int(row["episode_index"])
        if file != self._file:
            self._open(file)
        assert self._table is not None
        places = self._places.get(index, np.empty(0, np.int64))
        part = self._table.take(places)
        if part["frame_index"].to_pylist() != list(range(row["length"])):
            raise DataError(
                f"{self.layout.root}: episode {index}: metadata says {row['length']} frames, {file.name} holds "
                f"{len(places)} rows (or their frame_index has gaps); 'svm-robot data check' says more"
            )
        return part

    def _open(self, file: Path) -> None:
        names = [*self.plain, "episode_index", "frame_index", "task_index"]
        table, schema = read_parquet(file, names)
        absent = [name for name in (*names, *self.pictures) if name not in schema.names]
        if absent:
            raise DataError(f"{file} lacks the column {', '.join(absent)} that meta/info.json promises")
        episodes = table["episode_index"].to_numpy()
        order = np.lexsort((table["frame_index"].to_numpy(), episodes))
        found, starts = np.unique(episodes[order], return_index=True)
        self._places = dict(zip(found.tolist(), np.split(order, starts[1:]), strict=True))
        self._file, self._table = file, table

    def _pictures(self, row: Row) -> dict[str, Values]:
        """Only the row groups that hold the episode are read."""
        only = [("episode_index", "=", int(row["episode_index"]))]
        file = self.layout.data_file(row)
        try:
            table = pq.read_table(file, columns=[*self.pictures, "frame_index"], filters=only, partitioning=None)
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{file} is damaged ({' '.join(str(error).split())})") from error
        table = table.sort_by("frame_index")
        return {key: joined(table[key]) for key in self.pictures}

    def picture_stats(self, row: Row) -> dict[str, Stats]:
        """Statistics of the camera columns, as far as the episode's metadata has them whole."""
        file, features = self.layout.episodes_file(row), self.layout.info["features"]
        if file != self._about:
            lines, schema = read_parquet(file, ["episode_index"])
            cameras = tuple(f"stats/{key}/" for key, feature in features.items() if feature["dtype"] in CAMERAS)
            self._described = read_parquet(file, [name for name in schema.names if name.startswith(cameras)])[0]
            self._about, self._lines = file, lines["episode_index"].to_pylist()
        line = self._lines.index(row["episode_index"])
        known = from_json(nested(self._described.slice(line, 1).to_pylist()[0]))
        return {
            key: {name: value if name == "count" else value.reshape(-1, 1, 1) for name, value in stats.items()}
            for key, stats in known.items()
            if set(stats) >= {"min", "max", "mean", "std", "count", *QUANTILES}
        }


def plain(column: pa.ChunkedArray, feature: dict[str, Any]) -> Values:
    """Numbers as (T,) or (T, ...); anything else as it is."""
    if not str(feature["dtype"]).startswith(NUMBERS):
        return joined(column)
    shape = list(feature["shape"])
    if len(shape) < 2:
        values: NDArray[Any] = to_numpy(column)
        return values
    storage = [chunk.storage if isinstance(chunk, pa.ExtensionArray) else chunk for chunk in column.chunks]
    return np.array([chunk.to_pylist() for chunk in storage], feature["dtype"]).reshape(-1, *shape)


def joined(column: pa.ChunkedArray) -> pa.Array:
    """One array of a column."""
    array = column.combine_chunks()
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
