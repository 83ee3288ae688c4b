"""Examines the metadata of a dataset: info.json, the tasks, and one row for each episode."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from svm_robot.curation.check.episodes import read_rows
from svm_robot.curation.check.findings import Ledger, reason
from svm_robot.curation.check.reading import plain_reason, read_table
from svm_robot.curation.check.values import arrow_type, is_count, is_number, is_template
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
        remedy = "" if isinstance(error, PermissionError) else "; put a copy of it in its place"
        ledger.wrong("format", f"{INFO} cannot be read: {say(path, error)}{remedy}")
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
    except OSError as second:
        return second.strerror or reason(second)


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


def read_tasks(root: Path, info: dict[str, Any], ledger: Ledger) -> list[str]:
    """The sentences in the order of their numbers."""
    table = read_table(root / TASKS)
    pd.read_parquet(root / TASKS)  # as LeRobot reads it; raises where only what pandas noted beside the rows is damaged
    column = next((name for name in ("task", "__index_level_0__") if name in table.column_names), None)
    if column is None or "task_index" not in table.column_names:
        ledger.wrong("tasks", f"{TASKS} has no column 'task' or 'task_index'")
        return []
    if table["task_index"].to_pylist() != list(range(len(table))):
        ledger.wrong("tasks", f"{TASKS}: task_index is not 0, 1, 2, ... so LeRobot would show wrong tasks")
    if not info.get("total_tasks"):
        ledger.wrong("counters", f"{INFO} counts no tasks, so LeRobot would not read {TASKS}, which holds {len(table)}")
    return [str(sentence) for sentence in table[column].to_pylist()]
