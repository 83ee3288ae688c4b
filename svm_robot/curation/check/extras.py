"""Examines what stands beside the episodes: statistics, labels, and files that nobody counts."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from svm_robot.curation.check.findings import Ledger, reason
from svm_robot.curation.check.meta import Meta
from svm_robot.curation.check.reading import open_parquet
from svm_robot.curation.check.rows import Rows
from svm_robot.curation.check.values import fits
from svm_robot.data.labels import FILE, LabelLog
from svm_robot.data.layout import EPISODES, STATS, name_of
from svm_robot.errors import DataError
from svm_robot.recording.recovery import STAGING

FOLDERS = {"data": "*/*.parquet", "meta/episodes": "*/*.parquet", "videos": "*/*/*.mp4"}
"""Where the files of a dataset lie; LeRobot reads every Parquet file that it finds there."""


def check_stats(meta: Meta, rows: Rows, ledger: Ledger) -> None:
    """Training divides by stats.json: it must tell of exactly these rows."""
    if ledger.broken or not rows.total:
        return
    path = meta.root / STATS
    if not path.is_file():
        ledger.wrong("stats", f"{STATS} is missing; training needs it")
        return
    try:
        stats = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        ledger.wrong("stats", f"{STATS} cannot be read ({reason(error)})")
        return
    ahead = sum(int(row.get("length") or 0) for row in meta.beyond)
    for key, parts in rows.moments.items():
        with ledger.guard("stats", f"{STATS}, column {key}"):
            if key not in stats:
                if key in ("action", "observation.state"):
                    ledger.wrong("stats", f"{STATS} says nothing of column {key}")
                continue
            told: dict[str, NDArray[np.float64]] = {
                name: np.ravel(np.asarray(value, np.float64)) for name, value in stats[key].items()
            }
            count = int(told["count"][0]) if "count" in told else rows.total
            if ahead and count == rows.total + ahead:
                ledger.note("stats", f"{STATS} tells of an episode more: a recording was cut off while saving")
                return
            problem = stats_problem(told, np.stack(parts), count)
            if problem:
                ledger.wrong("stats", f"{STATS} does not fit the data: {key} {problem}")
                return


def stats_problem(told: dict[str, NDArray[np.float64]], parts: NDArray[np.float64], count: int) -> str:
    """In what statistics differ from the (E, 4, n) minimum, maximum, sum and number of rows of E episodes."""
    low, high, total, number = parts[:, 0].min(0), parts[:, 1].max(0), parts[:, 2].sum(0), parts[:, 3].sum(0)
    if count != int(number[0]):
        return f"counts {count} rows, there are {int(number[0])}"
    room = 1e-3 * np.maximum(high - low, 1e-3 * np.maximum(1.0, np.abs(high)))
    for name, true in (("min", low), ("max", high), ("mean", total / number)):
        if name not in told or told[name].shape != true.shape:
            return f"has no usable {name}"
        wrong = np.flatnonzero(~(np.abs(told[name] - true) <= room))
        if len(wrong):
            return f"has {name}[{wrong[0]}] {told[name][wrong[0]]:g}, the data {true[wrong[0]]:g}"
    return ""


def check_labels(meta: Meta, rows: Rows, ledger: Ledger) -> None:
    """Every line of the label log must be one; the last may be torn, it was never acknowledged then."""
    path = meta.root / FILE
    if not path.exists():
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    if text and not text.endswith("\n"):
        ledger.note("labels", f"the last line of {FILE} is torn; it was never acknowledged")
    try:
        entries = LabelLog(meta.root).entries()
    except (DataError, ValueError) as error:
        ledger.wrong("labels", f"{FILE} holds a line that is no label: {reason(error)}")
        return
    known = set(rows.uids.values()) or set(range(meta.counted))
    strangers = {label.episode_uid for label in entries} - known
    if strangers:
        ledger.note("labels", f"{FILE} speaks of {len(strangers)} episodes that the dataset does not have")


def check_strays(meta: Meta, ledger: Ledger) -> None:
    """Files that no counted episode refers to. Most hurt nobody; some keep LeRobot from reading the dataset."""
    counted = counted_files(meta)
    for folder, pattern in FOLDERS.items():
        known = sorted(file for file in counted if str(file).startswith(f"{meta.root / folder}/"))
        for file in sorted((meta.root / folder).glob(pattern)):
            if file not in counted:
                ledger.leftovers.append(file)
                with ledger.guard("stray", f"nobody counts {file.relative_to(meta.root)}, which LeRobot reads"):
                    check_stray(meta, file, known, ledger)
    ledger.leftovers += stray_folders(meta.root)
    if ledger.leftovers:
        names = ", ".join(str(path.relative_to(meta.root)) for path in ledger.leftovers[:3])
        more = f" and {len(ledger.leftovers) - 3} more" if len(ledger.leftovers) > 3 else ""
        ledger.note("stray", f"no counted episode refers to {names}{more}: left by a recording that was cut off?")


def check_stray(meta: Meta, file: Path, known: list[Path], ledger: Ledger) -> None:
    """Does LeRobot, which reads every Parquet file, stumble over this one?"""
    if file.suffix != ".parquet":
        return
    name = file.relative_to(meta.root)
    with open_parquet(file) as parquet:
        schema = parquet.schema_arrow
    if not known:
        return
    with open_parquet(known[0]) as parquet:
        first = parquet.schema_arrow
    if file < known[-1]:
        ledger.wrong("stray", f"nobody counts {name}, but LeRobot reads it before {known[-1].name}")
    elif not fits(schema, first):
        ledger.wrong("stray", f"nobody counts {name}, but LeRobot reads it, and its columns differ")


def counted_files(meta: Meta) -> set[Path]:
    """Every file that a counted episode refers to."""
    files = set()
    for row in meta.rows.values():
        files.add(meta.data_file(row))
        files |= {meta.video_file(row, key) for key in meta.video_keys}
        if "meta/episodes/chunk_index" in row:
            files.add(meta.root / name_of(EPISODES, row, "meta/episodes"))
    return files


def stray_folders(root: Path) -> Iterator[Path]:
    """What writers, ours and LeRobot's, build in and leave behind when they are killed."""
    folders = [root / STAGING, root / "images", *sorted(root.glob("tmp*"))]
    yield from (folder for folder in folders if any(path.is_file() for path in folder.rglob("*")))
    yield from sorted([*root.glob(".*.new"), *(root / "meta").glob(".*.new")])
