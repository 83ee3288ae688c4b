"""Examines the data files: the type of every column, the rows of every episode, every number."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from svm_robot.curation.check.findings import Ledger
from svm_robot.curation.check.meta import LANGUAGE, Meta
from svm_robot.curation.check.pictures import check_pictures
from svm_robot.curation.check.reading import open_parquet
from svm_robot.curation.check.values import Values, arrow_type, is_list
from svm_robot.data import columns
from svm_robot.data.files import file_digest
from svm_robot.data.layout import DIGEST, Row

NUMBERING = ("episode_index", "frame_index", "index", "task_index", "timestamp")
"""Columns that number the rows; statistics of them tell nothing."""


@dataclass
class Rows:
    """What the data files hold, for the steps after this one."""

    total: int = 0
    """Rows of counted episodes."""
    timestamps: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    """Episode -> (T,) seconds."""
    uids: dict[int, int] = field(default_factory=dict)
    begins: dict[int, int] = field(default_factory=dict)
    """Episode -> position of its first row in all data files, one after the other."""
    moments: dict[str, list[NDArray[np.float64]]] = field(default_factory=dict)
    """Column -> for each counted episode (4, n): minimum, maximum, sum, and how many rows."""


def check_rows(meta: Meta, ledger: Ledger, tick: Callable[[int], None]) -> Rows:
    """Examine all data files that counted episodes lie in. ``tick`` hears how many episodes were looked at."""
    rows = Rows()
    by_file: dict[Path, list[Row]] = {}
    for row in meta.rows.values():
        by_file.setdefault(meta.data_file(row), []).append(row)
    base = 0
    for file in sorted(by_file):
        here = [int(row["episode_index"]) for row in by_file[file]]
        with ledger.guard("data", str(file.relative_to(meta.root)), *here):
            base += check_file(meta, file, by_file[file], base, rows, ledger)
        tick(len(here))
    check_order(meta, rows, ledger)
    check_uids(rows, ledger)
    return rows


def check_file(meta: Meta, file: Path, here: list[Row], base: int, rows: Rows, ledger: Ledger) -> int:
    """Examine one data file; how many rows it holds."""
    name = str(file.relative_to(meta.root))
    episodes = [int(row["episode_index"]) for row in here]
    with open_parquet(file) as parquet:
        good = check_columns(meta, name, parquet.schema_arrow, episodes, ledger)
        table = parquet.read(columns=good, use_threads=False)
        values: Values = {}
        for key in good:
            with ledger.guard("columns", f"{name}, column {key}", *episodes):
                values[key] = to_array(table[key], meta.features[key])
        if not all(key in values for key in NUMBERING):
            return int(parquet.metadata.num_rows)
        check_numbers(values, ledger, set(episodes))
        for row in here:
            check_episode(meta, row, values, base, rows, ledger)
        check_strangers(meta, name, values, ledger, set(episodes))
        check_pictures(meta, parquet, values, ledger, set(episodes))
        total = int(parquet.metadata.num_rows)
    noted = here[0].get(f"{DIGEST}data")
    if noted and not ledger.broken & set(episodes) and file_digest(file) != noted:
        ledger.wrong("digest", f"{name} is not what was recorded: its SHA-256 changed since", *episodes)
    return total


def check_columns(meta: Meta, name: str, schema: pa.Schema, episodes: list[int], ledger: Ledger) -> list[str]:
    """Columns that hold numbers of the promised type; what does not fit goes into the ledger."""
    promised = {key: feature for key, feature in meta.features.items() if feature["dtype"] != "video"}
    extra = [key for key in schema.names if key not in promised]
    if extra:
        ledger.wrong("columns", f"{name} has the columns {', '.join(extra[:4])}, unknown to info.json")
    good = []
    for key, feature in promised.items():
        if key not in schema.names:
            ledger.wrong("columns", f"{name} lacks the column {key} that info.json promises", *episodes)
        elif feature["dtype"] in ("image", "language") or key in LANGUAGE:
            continue
        elif not same_kind(schema.field(key).type, feature):
            got, want = schema.field(key).type, f"{feature['dtype']} x {feature['shape']}"
            ledger.wrong("columns", f"{name}: column {key} holds {got}, info.json promises {want}", *episodes)
        else:
            good.append(key)
    return good


def same_kind(given: pa.DataType, feature: dict[str, Any]) -> bool:
    """True when LeRobot reads a column as info.json promises: as deep, and numbers, truths or text alike."""
    shape = feature["shape"]
    for length in [] if shape == [1] else shape:
        if isinstance(given, pa.BaseExtensionType):
            given = given.storage_type
        if not is_list(given) or (pa.types.is_fixed_size_list(given) and given.list_size != length):
            return False
        given = given.value_type
    wanted = arrow_type(feature["dtype"])
    return given == wanted or any(
        test(given) and test(wanted)
        for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string)
    )


def to_array(column: pa.ChunkedArray, feature: dict[str, Any]) -> NDArray[Any]:
    """(N, n) of a column, n numbers for each row. Raises ``ValueError`` for gaps and for rows of another length."""
    array = column.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if array.null_count:
        raise ValueError(f"{array.null_count} rows hold nothing")
    for length in [] if feature["shape"] == [1] else feature["shape"]:
        rows = len(array)
        if not pa.types.is_fixed_size_list(array.type) and not (np.diff(array.offsets.to_numpy()) == length).all():
            raise ValueError(f"some rows do not hold {length} numbers")
        array = array.flatten()
        if array.null_count or len(array) != rows * length:
            raise ValueError("some rows hold gaps")
    values = array.to_numpy(zero_copy_only=False)
    return np.asarray(values.reshape(len(column), -1) if len(column) else values.reshape(0, 1))


def check_numbers(values: Values, ledger: Ledger, episodes: set[int]) -> None:
    """Every number must be finite; the first ones that are not are named by episode, frame and dimension."""
    index, frame = values["episode_index"][:, 0], values["frame_index"][:, 0]
    for key, numbers in values.items():
        if numbers.dtype.kind != "f" or np.isfinite(numbers).all():
            continue
        for row, dim in np.argwhere(~np.isfinite(numbers)):
            if int(index[row]) in episodes:
                text = f"{key}: frame {frame[row]}, dim {dim} is {numbers[row, dim]}"
                ledger.wrong("numbers", text, int(index[row]))


def check_episode(meta: Meta, row: Row, values: Values, base: int, rows: Rows, ledger: Ledger) -> None:
    """The rows of one episode: as many as promised, in order, in one piece."""
    index, length = int(row["episode_index"]), int(row["length"])
    places = np.flatnonzero(values["episode_index"][:, 0] == index)
    rows.total += len(places)
    if not len(places):
        ledger.wrong("rows", f"{length} frames are promised, the data file holds no row of it", index)
        return
    part = {key: numbers[places] for key, numbers in values.items()}
    rows.begins[index] = base + int(places[0])
    rows.timestamps[index] = part["timestamp"][:, 0].astype(np.float64)
    if len(places) != length:
        ledger.wrong("rows", f"{length} frames are promised, the data file holds {len(places)} rows", index)
    elif not np.array_equal(places, places[0] + np.arange(length)):
        ledger.wrong("rows", "its rows do not stand one after the other", index)
    elif not np.array_equal(part["frame_index"][:, 0], np.arange(length)):
        ledger.wrong("rows", "frame_index does not count 0, 1, 2, ...", index)
    elif not np.array_equal(part["index"][:, 0], np.arange(row["dataset_from_index"], row["dataset_to_index"])):
        at = int(part["index"][0, 0])
        text = f"index begins at {at} or has a gap, expected {row['dataset_from_index']}"
        ledger.wrong("index", f"episode {index}: {text}")
    tasks = np.unique(part["task_index"][:, 0])
    if len(meta.tasks) <= tasks[-1] or tasks[0] < 0:
        ledger.wrong("tasks", f"its rows name task {tasks[-1]}, meta/tasks.parquet holds {len(meta.tasks)}", index)
    if columns.EPISODE_UID in part:
        if len(np.unique(part[columns.EPISODE_UID])) > 1:
            ledger.wrong("rows", f"{columns.EPISODE_UID} changes within the episode", index)
        rows.uids[index] = int(part[columns.EPISODE_UID][0, 0])
    for key, numbers in part.items():
        if numbers.dtype.kind in "fiub" and key not in NUMBERING:
            exact = numbers.astype(np.float64)
            summary = np.stack([exact.min(0), exact.max(0), exact.sum(0), np.full(exact.shape[1], len(exact))])
            rows.moments.setdefault(key, []).append(summary)


def check_strangers(meta: Meta, name: str, values: Values, ledger: Ledger, episodes: set[int]) -> None:
    """Rows of episodes that do not belong into this file."""
    found, counts = np.unique(values["episode_index"][:, 0], return_counts=True)
    for index, count in zip(found.tolist(), counts.tolist(), strict=True):
        if index in episodes:
            continue
        if index >= meta.counted:
            ledger.note("rows", f"{name} holds {count} rows of episode {index}, which info.json does not count")
        else:
            ledger.wrong("rows", f"{name} holds {count} rows of episode {index}, whose metadata names another file")


def check_order(meta: Meta, rows: Rows, ledger: Ledger) -> None:
    """Episodes must follow each other without a gap: LeRobot finds a frame by its position."""
    if ledger.broken or len(meta.rows) != meta.counted:
        return
    expected = 0
    for index, row in meta.rows.items():
        if row["dataset_from_index"] != expected:
            text = f"episode {index} begins at index {row['dataset_from_index']}, expected {expected}"
            ledger.wrong("rows", f"{text}: the index has a gap")
            return
        if rows.begins.get(index) != expected:
            text = f"the rows of episode {index} stand at position {rows.begins.get(index)} of the data files"
            ledger.wrong("rows", f"{text}, expected {expected}: the files are not in order")
            return
        expected += int(row["length"])
    if meta.info["total_frames"] != expected:
        ledger.wrong("counters", f"info.json counts {meta.info['total_frames']} frames, the episodes hold {expected}")


def check_uids(rows: Rows, ledger: Ledger) -> None:
    """Labels hang on the uid, so no two episodes may share one."""
    seen: dict[int, int] = {}
    for index, uid in rows.uids.items():
        if uid in seen:
            ledger.wrong("rows", f"it has the same uid as episode {seen[uid]}: is it a copy?", index)
        seen.setdefault(uid, index)
