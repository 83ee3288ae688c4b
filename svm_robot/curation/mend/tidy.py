"""Mends a dataset in its own place, where no episode has to be moved: counters, statistics, labels, stray files."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from svm_robot.curation.check.meta import Meta
from svm_robot.data.episode_stats import Stats, from_json, merge, to_json
from svm_robot.data.files import publish, publish_json, publish_text, sync
from svm_robot.data.labels import FILE, parse_line
from svm_robot.data.layout import EPISODES, INFO, STATS, Row, name_of, read_parquet
from svm_robot.errors import DataError
from svm_robot.recording.recovery import SET_ASIDE, free_name, nested


def files_of(meta: Meta, row: Row) -> set[Path]:
    """Every file that an episode's metadata refers to, its own included where it says so."""
    files = {meta.data_file(row), *(meta.video_file(row, key) for key in meta.video_keys)}
    if "meta/episodes/chunk_index" in row:
        files.add(meta.root / name_of(EPISODES, row, "meta/episodes"))
    return files


def is_tail(meta: Meta, kept: tuple[int, ...]) -> bool:
    """True when the kept episodes are the first ones and share no file with the others."""
    if kept != tuple(range(len(kept))) or not all("meta/episodes/chunk_index" in meta.rows[index] for index in kept):
        return False
    ours = {file for index in kept for file in files_of(meta, meta.rows[index])}
    theirs = {file for index, row in meta.rows.items() if index >= len(kept) for file in files_of(meta, row)}
    return not ours & theirs


def tidy(meta: Meta, kept: tuple[int, ...], leftovers: Iterable[Path]) -> list[Path]:
    """Keep the first episodes, ``kept``; where everything else lies now. The counters are replaced last.

    A kill at any moment leaves the kept episodes as they were, and the same call again finishes the work.
    """
    ours = {file for index in kept for file in files_of(meta, meta.rows[index])}
    others = {file for index, row in meta.rows.items() if index not in kept for file in files_of(meta, row)}
    moved = [put_aside(meta.root, path) for path in sorted({*leftovers, *(others - ours)}) if path.exists()]
    moved += tidy_labels(meta.root)
    rows = [meta.rows[index] for index in kept]
    frames = sum(int(row["length"]) for row in rows)
    if rows:
        write_if_other(meta.root / STATS, to_json(stats_of(meta, kept)))
    counters = {"total_episodes": len(rows), "total_frames": frames}
    splits = meta.info.get("splits") if len(rows) == meta.counted else {"train": f"0:{len(rows)}"}
    info = meta.info | counters | {"total_tasks": len(meta.tasks) or meta.info.get("total_tasks", 0), "splits": splits}
    write_if_other(meta.root / INFO, info, indent=4)
    return moved


def put_aside(root: Path, path: Path) -> Path:
    """Move a file or a folder into ``set_aside``, under its own name; where it is now."""
    target = free_name(root / SET_ASIDE / path.relative_to(root))
    target.parent.mkdir(parents=True, exist_ok=True)
    path.replace(target)
    sync(target.parent)
    sync(path.parent)
    return target


def tidy_labels(root: Path) -> list[Path]:
    """Keep the lines of the label log that are labels; the log as it was is set aside when there are others."""
    path = root / FILE
    if not path.is_file():
        return []
    old = path.read_bytes()
    new = b"".join(line + b"\n" for line in old.split(b"\n") if is_label(line))
    if new == old:
        return []
    aside = free_name(root / SET_ASIDE / FILE)
    aside.parent.mkdir(parents=True, exist_ok=True)
    staged = aside.with_name(f".{aside.name}.new")
    staged.write_bytes(old)
    publish(staged, aside)
    publish_text(new.decode(), path)
    return [aside]


def is_label(line: bytes) -> bool:
    """True for a line of the log that can be read."""
    try:
        parse_line(line)
    except (DataError, ValueError):
        return False
    return True


def stats_of(meta: Meta, kept: tuple[int, ...]) -> dict[str, Stats]:
    """The statistics of the kept episodes, from what each one's metadata says of it."""
    merged: dict[str, Stats] = {}
    wanted = set(kept)
    for file in sorted((meta.root / "meta" / "episodes").glob("*/*.parquet")):
        for row in read_parquet(file, None)[0].to_pylist():
            if row["episode_index"] in wanted:
                merged = merge(merged, from_json(nested(row)))
    return merged


def write_if_other(path: Path, value: dict[str, Any], indent: int | None = None) -> None:
    """Replace a JSON file unless it says the same already."""
    try:
        if json.loads(path.read_text(encoding="utf-8")) == value:
            return
    except (OSError, ValueError):
        pass
    publish_json(value, path, indent=indent)
