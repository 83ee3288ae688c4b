"""Examines meta/episodes: one usable row for each counted episode, in order, in files that LeRobot reads as one."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from svm_robot.curation.check.findings import Ledger
from svm_robot.curation.check.reading import open_parquet
from svm_robot.curation.check.values import fits, is_count, is_number
from svm_robot.data.layout import INFO, Row, without_shared_digests

NAMED = 100
"""Episodes after the last one described that are named one by one when they are missing."""


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
            place = {f"meta/episodes/{name}": number for name, number in numbers_in(file).items()}
            json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))  # LeRobot reads it, and the statistics too
            table = parquet.read(use_threads=False).select(plain)
            listed += [row | place for row in table.to_pylist()]
    counted = info["total_episodes"]
    inside = [row for row in listed if is_count(row.get("episode_index")) and row["episode_index"] < counted]
    beyond = tuple(row for row in listed if is_count(row.get("episode_index")) and row["episode_index"] >= counted)
    inside = without_copies(inside, ledger)
    number = Counter(row["episode_index"] for row in inside)
    if len(inside) + len(beyond) < len(listed):
        ledger.wrong("metadata", f"{len(listed) - len(inside) - len(beyond)} rows have no usable episode_index")
    for index in sorted(number):
        if number[index] > 1:
            text = f"meta/episodes describes it {number[index]} times, each time another way"
            ledger.wrong("metadata", text, index)
    reach = min(counted, max(number, default=-1) + 1 + NAMED)  # a count that lies may be astronomic
    missing = [index for index in range(reach) if not number[index]]
    for index in missing:
        ledger.wrong("metadata", f"{INFO} counts it, but meta/episodes has no row for it", index)
    if reach < counted:
        ledger.wrong("counters", f"{INFO} counts {counted} episodes, meta/episodes describes {len(number)}")
    order = [row["episode_index"] for row in inside]
    if not missing and max(number.values(), default=1) == 1 and order != list(range(counted)):
        ledger.wrong("metadata", "the rows in meta/episodes are not in order, so LeRobot would mix episodes up")
    unique = {row["episode_index"]: row for row in without_shared_digests(inside) if number[row["episode_index"]] == 1}
    return {index: row for index, row in sorted(unique.items()) if usable(row, info, ledger)}, beyond


def numbers_in(file: Path) -> dict[str, int]:
    """Chunk and file number that a file's own name tells; empty for another kind of name."""
    found = re.fullmatch(r"chunk-(\d+)/file-(\d+)\.(parquet|mp4)", "/".join(file.parts[-2:]))
    return {"chunk_index": int(found[1]), "file_index": int(found[2])} if found else {}


def without_copies(rows: list[Row], ledger: Ledger) -> list[Row]:
    """Each row once; a copy in another file confuses LeRobot, but loses nothing."""
    seen: dict[int, list[Row]] = {}
    once = []
    for row in rows:
        content = {name: value for name, value in row.items() if not name.startswith("meta/episodes/")}
        if content in seen.setdefault(row["episode_index"], []):
            ledger.wrong("metadata", f"meta/episodes holds the row of episode {row['episode_index']} twice")
        else:
            seen[row["episode_index"]].append(content)
            once.append(row)
    return once


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
