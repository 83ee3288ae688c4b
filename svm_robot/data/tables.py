"""The numbers of a dataset as numpy arrays, episode by episode."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from svm_robot.data import columns
from svm_robot.data.layout import TASKS, Layout, Row, read_parquet
from svm_robot.errors import DataError

NEEDED = (columns.STATE, columns.ACTION, "episode_index", "frame_index")
USEFUL = (
    *("task_index", columns.EPISODE_UID, columns.SUCCESS),
    *(columns.DECISION, columns.LATENT, columns.INTERVENTION),
)

Part = dict[str, NDArray[Any]]


def read_numbers(layout: Layout) -> Part:
    """Column -> values of all counted episodes, sorted by episode and frame; vectors are (N, n)."""
    features = layout.info["features"]
    missing = [name for name in NEEDED if name not in features]
    if missing:
        raise DataError(
            f"{layout.root} has no column {', '.join(missing)}; every command here needs {', '.join(NEEDED)}"
        )
    names = [*NEEDED, *(name for name in USEFUL if name in features)]
    table = read_rows(layout, names)
    part = {name: to_numpy(table[name]) for name in names}
    order = np.lexsort((part["frame_index"], part["episode_index"]))
    return {name: values[order] for name, values in part.items()}


def read_rows(layout: Layout, names: list[str]) -> pa.Table:
    """The named columns of all data files that counted episodes lie in, in file order."""
    files = sorted({layout.data_file(row) for row in layout.episodes})
    tables = []
    for file in files:
        table, schema = read_parquet(file, names)
        absent = [name for name in names if name not in schema.names]
        if absent:
            raise DataError(f"{file} lacks the column {', '.join(absent)} that meta/info.json promises")
        tables.append(table)
    if not tables:
        return pa.table({name: pa.array([], pa.float32()) for name in names})
    return pa.concat_tables(tables)


def to_numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    """(N,) of a plain column, (N, n) of a column of lists."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type):
        values = np.concatenate([chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks])
        if len(values) % len(column):
            raise DataError("a column of vectors holds vectors of different length")
        return np.asarray(values.reshape(len(column), -1))
    return np.asarray(column.to_numpy())


def to_arrow(values: NDArray[Any]) -> pa.Array:
    """(T,) as it is, (T, n) as lists of fixed length, (T, n, m) as lists of lists."""
    array = pa.array(values.ravel())
    for size in reversed(values.shape[1:]):
        array = pa.FixedSizeListArray.from_arrays(array, size)
    return array


def cut(part: Part, row: Row) -> Part:
    """The rows of one episode. Raises ``DataError`` when there are fewer or more than its metadata says."""
    index, length = row["episode_index"], row["length"]
    begin, end = np.searchsorted(part["episode_index"], [index, index + 1])
    if end - begin != length or not np.array_equal(part["frame_index"][begin:end], np.arange(length)):
        raise DataError(
            f"episode {index}: metadata says {length} frames, the data files hold {end - begin} rows "
            "(or their frame_index has gaps); the recording is damaged"
        )
    return {name: values[begin:end] for name, values in part.items()}


def read_tasks(root: Path) -> dict[int, str]:
    """Task index -> the sentence."""
    table, schema = read_parquet(root / TASKS, None)
    sentences = next((name for name in ("task", "__index_level_0__") if name in schema.names), None)
    if sentences is None or "task_index" not in schema.names:
        raise DataError(f"{root / TASKS} has no column 'task' or 'task_index'")
    return dict(zip(table["task_index"].to_pylist(), table[sentences].to_pylist(), strict=True))


def not_finite(name: str, episode: int, values: NDArray[Any] | None) -> Iterable[str]:
    """Where numbers are not finite, in words."""
    if values is None or np.isfinite(values).all():
        return
    for frame, dim in np.argwhere(~np.isfinite(values)):
        yield f"{name}: episode {episode}, frame {frame}, dim {dim} is {values[frame, dim]}"
