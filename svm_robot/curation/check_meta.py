"""Examines the metadata of a dataset: info.json, the tasks, and one row for each episode."""

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from svm_robot.curation.findings import Ledger, reason
from svm_robot.curation.reading import open_parquet, plain_reason, read_table
from svm_robot.data.layout import INFO, TASKS, Row, name_of
from svm_robot.data.schema import BOOKKEEPING

IMPORT = "make a v3 dataset of it with 'svm-robot data import'"
LANGUAGE = ("language_persistent", "language_events")
"""Columns of LeRobot whose types are its own."""


@dataclass(frozen=True)
class Meta:
    """Metadata as far as it can be believed."""

    root: Path
    info: dict[str, Any]
    rows: dict[int, Row]
    """Episode index -> its row, for the counted episodes whose row can be used."""
    beyond: tuple[Row, ...]
    """Rows of episodes that ``info.json`` does not count: left by a recording that was cut off."""
    tasks: list[str]

    @property
    def counted(self) -> int:
        return int(self.info["total_episodes"])

    @property
    def features(self) -> dict[str, dict[str, Any]]:
        return dict(self.info["features"])

    @property
    def video_keys(self) -> list[str]:
        """Cameras kept as video, depth maps included."""
        return [key for key, feature in self.features.items() if feature["dtype"] == "video"]

    @property
    def rate_hz(self) -> float:
        return float(self.info["fps"])

    def data_file(self, row: Row) -> Path:
        return self.root / name_of(self.info["data_path"], row, "data")

    def video_file(self, row: Row, key: str) -> Path:
        return self.root / name_of(self.info["video_path"], row, f"videos/{key}", video_key=key)


def read_meta(root: Path, ledger: Ledger) -> Meta | None:
    """The metadata, or None when it tells too little to look any further; why is in the ledger then."""
    info = read_info(root, ledger)
    if info is None or not check_info(info, ledger):
        return None
    rows, beyond = read_rows(root, info, ledger)
    tasks: list[str] = []
    if info["total_episodes"]:
        with ledger.guard("tasks", str(TASKS)):
            tasks = read_tasks(root, info, ledger)
    return Meta(root, info, rows, beyond, tasks)


def read_info(root: Path, ledger: Ledger) -> dict[str, Any] | None:
    """The content of info.json when it is an object of a version that can be read here."""
    if not root.is_dir():
        ledger.wrong("format", f"no dataset at {root}: {'not a folder' if root.exists() else 'nothing is there'}")
        return None
    path = root / INFO
    if not path.exists():
        hint = "; the folder holds no dataset" if not (root / "data").exists() else ""
        ledger.wrong("format", f"{INFO} is missing{hint}; without it nobody knows the columns and the rate")
        return None
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        ledger.wrong("format", f"{INFO} cannot be read: {say(path, error)}; put a copy of it in its place")
        return None
    if not isinstance(info, dict):
        ledger.wrong("format", f"{INFO} holds a {type(info).__name__}, not an object; put a copy of it in its place")
        return None
    version = info.get("codebase_version")
    if not (isinstance(version, str) and version.startswith("v3.")):
        ledger.wrong("version", unknown_version(version))
        return None
    return info


def say(path: Path, error: Exception) -> str:
    """Why a JSON file cannot be read."""
    try:
        return plain_reason(path) or reason(error)
    except OSError:
        return reason(error)


def unknown_version(version: Any) -> str:
    """What to do with a dataset of another format."""
    if isinstance(version, str) and version.lstrip("v").startswith(("1.", "2.")):
        return f"this is a LeRobot {version} dataset, read here is v3; {IMPORT}"
    return f"dataset version {version!r} is unknown; read here is LeRobot v3 (v3.0, v3.1, ...). If it is v2.x, {IMPORT}"


def check_info(info: dict[str, Any], ledger: Ledger) -> bool:
    """False when info.json tells too little to go on."""
    wrong = [
        f"{key} is {info.get(key)!r}, expected {what}"
        for key, what, good in (
            ("features", "a table of columns", isinstance(info.get("features"), dict)),
            ("fps", "a positive number", is_number(info.get("fps")) and info["fps"] > 0),
            ("total_episodes", "a count", is_count(info.get("total_episodes", 0))),
            ("total_frames", "a count", is_count(info.get("total_frames", 0))),
            ("chunks_size", "a positive count", is_count(info.get("chunks_size", 1)) and info.get("chunks_size", 1)),
            ("data_path", "a file name with chunk_index and file_index", is_template(info.get("data_path"))),
        )
        if not good
    ]
    if not wrong:
        wrong = wrong_features(info)
    for text in wrong:
        ledger.wrong("info", f"{INFO}: {text}")
    for key in ("total_episodes", "total_frames"):
        info.setdefault(key, 0)
    return not wrong


def wrong_features(info: dict[str, Any]) -> list[str]:
    """What is wrong with the table of columns."""
    found = []
    for key, feature in info["features"].items():
        shape = feature.get("shape") if isinstance(feature, dict) else None
        if not isinstance(shape, list) or not all(map(is_count, shape)):
            found.append(f"column {key} has no usable shape")
        elif not shape or arrow_type(feature.get("dtype")) is None:
            found.append(f"column {key} has the unknown type {feature.get('dtype')!r} x {shape}")
    missing = [name for name in BOOKKEEPING if name not in info["features"]]
    if missing:
        found.append(f"it lacks the columns {', '.join(missing)}, which every LeRobot dataset has")
    has_video = any(isinstance(f, dict) and f.get("dtype") == "video" for f in info["features"].values())
    if has_video and not is_template(info.get("video_path"), video_key="camera"):
        found.append(f"video_path is {info.get('video_path')!r}, but the dataset has cameras kept as video")
    return found


def arrow_type(dtype: Any) -> pa.DataType | None:
    """The Arrow type of a LeRobot dtype; None for an unknown one. Pictures and language count as bytes."""
    if dtype in ("video", "image", "language"):
        return pa.binary()
    try:
        return pa.type_for_alias(dtype)
    except (ValueError, TypeError):
        return None


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_template(value: Any, **more: str) -> bool:
    """True for a file name that can be filled in."""
    try:
        return isinstance(value, str) and bool(value.format(chunk_index=0, file_index=0, **more))
    except (KeyError, ValueError, IndexError, AttributeError):
        return False


def read_tasks(root: Path, info: dict[str, Any], ledger: Ledger) -> list[str]:
    """The sentences in the order of their numbers."""
    table = read_table(root / TASKS)
    column = next((name for name in ("task", "__index_level_0__") if name in table.column_names), None)
    if column is None or "task_index" not in table.column_names:
        ledger.wrong("tasks", f"{TASKS} has no column 'task' or 'task_index'")
        return []
    if table["task_index"].to_pylist() != list(range(len(table))):
        ledger.wrong("tasks", f"{TASKS}: task_index is not 0, 1, 2, ... so LeRobot would show wrong tasks")
    if not info.get("total_tasks"):
        ledger.wrong("tasks", f"{INFO} counts no tasks, so LeRobot would not read {TASKS}, which holds {len(table)}")
    return [str(sentence) for sentence in table[column].to_pylist()]


def read_rows(root: Path, info: dict[str, Any], ledger: Ledger) -> tuple[dict[int, Row], tuple[Row, ...]]:
    """Usable rows of the counted episodes by index, and rows beyond the count."""
    listed: list[Row] = []
    first: pa.Schema | None = None
    for file in sorted((root / "meta" / "episodes").glob("*/*.parquet")):
        with ledger.guard("metadata", str(file.relative_to(root))), open_parquet(file) as parquet:
            schema = parquet.schema_arrow
            if first is not None and not fits(schema, first):
                ledger.wrong("metadata", f"{file.relative_to(root)} has other columns than the files before it")
            first = first or schema
            plain = [name for name in schema.names if not name.startswith("stats/")]
            listed += parquet.read(columns=plain, use_threads=False).to_pylist()
    counted = info["total_episodes"]
    inside = [row for row in listed if is_count(row.get("episode_index")) and row["episode_index"] < counted]
    beyond = tuple(row for row in listed if is_count(row.get("episode_index")) and row["episode_index"] >= counted)
    number = Counter(row["episode_index"] for row in inside)
    if len(inside) + len(beyond) < len(listed):
        ledger.wrong("metadata", f"{len(listed) - len(inside) - len(beyond)} rows have no usable episode_index")
    for index in sorted(number):
        if number[index] > 1:
            ledger.wrong("metadata", f"meta/episodes describes it {number[index]} times", index)
    missing = [index for index in range(counted) if not number[index]]
    for index in missing[:1000]:  # a count that lies may be astronomic
        ledger.wrong("metadata", f"{INFO} counts it, but meta/episodes has no row for it", index)
    order = [row["episode_index"] for row in listed[:counted] if is_count(row.get("episode_index"))]
    if not missing and max(number.values(), default=1) == 1 and order != list(range(counted)):
        ledger.wrong("metadata", "the rows in meta/episodes are not in order, so LeRobot would mix episodes up")
    unique = {row["episode_index"]: row for row in inside if number[row["episode_index"]] == 1}
    return {index: row for index, row in sorted(unique.items()) if usable(row, info, ledger)}, beyond


def fits(schema: pa.Schema, first: pa.Schema) -> bool:
    """True when LeRobot can read a file after the first one: no column more, no type that does not convert."""
    if schema.equals(first):
        return True
    return all(
        name in first.names and converts(schema.field(name).type, first.field(name).type) for name in schema.names
    )


def converts(given: pa.DataType, wanted: pa.DataType) -> bool:
    """True when values of one Arrow type surely become values of another: the same, numbers, or nothing at all."""
    if given == wanted or pa.types.is_null(given):
        return True
    if is_list(given) and is_list(wanted):
        return converts(given.value_type, wanted.value_type)
    return all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (given, wanted))


def is_list(kind: pa.DataType) -> bool:
    """True for every kind of Arrow list."""
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def usable(row: Row, info: dict[str, Any], ledger: Ledger) -> bool:
    """False when a row does not say where its episode lies."""
    index = row["episode_index"]
    video = [key for key, feature in info["features"].items() if feature["dtype"] == "video"]
    places = ["data", *(f"videos/{key}" for key in video)]
    counts = ["length", "dataset_from_index", "dataset_to_index"]
    counts += [f"{place}/{name}" for place in places for name in ("chunk_index", "file_index")]
    wrong = [name for name in counts if not is_count(row.get(name))]
    wrong += [
        f"videos/{key}/{name}"
        for key in video
        for name in ("from_timestamp", "to_timestamp")
        if not is_number(row.get(f"videos/{key}/{name}"))
    ]
    if wrong:
        ledger.wrong("metadata", f"its row in meta/episodes has no usable {', '.join(wrong[:4])}", index)
    elif row["length"] < 1 or row["dataset_to_index"] - row["dataset_from_index"] != row["length"]:
        span = f"{row['dataset_from_index']} to {row['dataset_to_index']}"
        ledger.wrong("metadata", f"its row says {row['length']} frames, but also index {span}", index)
    return not wrong
