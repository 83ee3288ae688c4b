"""What a writer that was killed can leave behind, and how the next one starts clean."""

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from svm_robot.data.episode_stats import Stats, from_json, merge
from svm_robot.data.layout import INFO, STATS, read_parquet

LOCK = ".recording.lock"
STAGING = ".recording"
SET_ASIDE = "set_aside"


def is_fresh(root: Path) -> bool:
    """True when a new dataset can be made at ``root``: nothing there, or only a creation that was cut off."""
    if not root.exists():
        return True
    if not root.is_dir():
        return False
    names = {entry.name for entry in root.iterdir()}
    return names <= {LOCK, STAGING, "meta"} and not (root / INFO).exists()


def set_aside(root: Path, counted: Iterable[Path]) -> list[Path]:
    """Move data and video files that no counted episode refers to out of the way; where they are now."""
    known = set(counted)
    moved = []
    for pattern in ("data/*/*.parquet", "meta/episodes/*/*.parquet", "videos/*/*/*.mp4"):
        for file in sorted(root.glob(pattern)):
            if file not in known:
                target = free_name(root / SET_ASIDE / file.relative_to(root))
                target.parent.mkdir(parents=True, exist_ok=True)
                moved.append(file.replace(target))
    return moved


def free_name(path: Path) -> Path:
    """``path``, or the same with a number when something is there already."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_stem(f"{path.stem}-{number}")
    return free


def load_stats(root: Path, episode_files: Iterable[Path], info: dict[str, Any]) -> dict[str, Stats]:
    """Statistics of the counted episodes; computed anew where the file counts others or cannot be read."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):  # missing, torn, or not by us
        stats = from_json(json.loads((root / STATS).read_text(encoding="utf-8")))
        if int(stats["frame_index"]["count"][0]) == info["total_frames"]:
            return stats
    merged: dict[str, Stats] = {}
    for file in episode_files:
        for row in read_parquet(file, None)[0].to_pylist():
            if row["episode_index"] < info["total_episodes"]:
                merged = merge(merged, from_json(nested(row)))
    return merged


def nested(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The ``stats/column/statistic`` entries of an episode row as a table of tables."""
    table: dict[str, dict[str, Any]] = {}
    for name, value in row.items():
        if name.startswith("stats/"):
            key, statistic = name.removeprefix("stats/").rsplit("/", 1)
            table.setdefault(key, {})[statistic] = value
    return table
