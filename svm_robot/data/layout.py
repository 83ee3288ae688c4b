"""Where things lie in a LeRobot v3 dataset, and which of them count.

``meta/info.json`` is the commit point: an episode exists when ``total_episodes`` says so. Files that no counted
episode refers to are leftovers of a writer that was killed; readers here never look at them.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svm_robot.errors import DataError

INFO = Path("meta/info.json")
STATS = Path("meta/stats.json")
TASKS = Path("meta/tasks.parquet")
EPISODES = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
DATA = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
CHUNK_SIZE = 1000
VERSION = "v3.0"

DIGEST = "svm/sha256/"
"""Prefix of entries in an episode's metadata, the SHA-256 of its files; ``data`` or the name of a camera's column
follows."""

ABOUT = "meta/episodes"
"""Prefix of entries in an episode's metadata that tell in which file these lie."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """The metadata of a dataset as its commit point counts it."""

    root: Path
    info: dict[str, Any]
    episodes: tuple[Row, ...]
    """One row for each counted episode, in order; per-episode statistics left out."""

    def data_file(self, row: Row) -> Path:
        """Parquet file with the rows of an episode."""
        return self.root / name_of(self.info["data_path"], row, "data")

    def video_file(self, row: Row, key: str) -> Path:
        """Video file with the frames of one camera of an episode."""
        return self.root / name_of(self.info["video_path"], row, f"videos/{key}", video_key=key)

    def episodes_file(self, row: Row) -> Path:
        """Parquet file with the metadata of an episode."""
        return self.root / name_of(EPISODES, row, ABOUT)

    def video_keys(self) -> list[str]:
        """Feature names of the cameras kept as video (depth maps are not pictures and are left out)."""
        return [key for key, feature in self.info["features"].items() if is_picture(feature, "video")]


def name_of(template: str, row: Row, prefix: str, **more: str) -> str:
    """File name from a template and an episode row."""
    return template.format(chunk_index=row[f"{prefix}/chunk_index"], file_index=row[f"{prefix}/file_index"], **more)


def is_picture(feature: dict[str, Any], dtype: str) -> bool:
    """True for a colour camera stored as ``dtype`` (``video`` or ``image``)."""
    details = feature.get("info") or {}
    return feature["dtype"] == dtype and not details.get("is_depth_map", False)


def read_info(root: Path) -> dict[str, Any]:
    """The content of ``meta/info.json``. Raises ``DataError`` when ``root`` is no LeRobot v3 dataset."""
    if not root.is_dir():
        what = "it is a file" if root.exists() else "the folder does not exist"
        raise DataError(f"no dataset at {root}: {what} (record one with 'svm-robot record')")
    path = root / INFO
    if not path.is_file():
        raise DataError(f"{root} is not a LeRobot dataset: {INFO} is missing")
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        version = str(info["codebase_version"])
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise DataError(f"{path} is damaged ({type(error).__name__}: {error})") from error
    check_version(root, version)
    missing = [key for key in ("features", "fps", "total_episodes", "total_frames", "data_path") if key not in info]
    if missing:
        raise DataError(f"{path} lacks {', '.join(missing)}; every LeRobot {VERSION} dataset has them")
    return dict(info)


def check_version(root: Path, version: str) -> None:
    """Refuse every format but v3, by name."""
    if version.startswith("v3."):
        return
    if version.startswith("v2."):
        raise DataError(
            f"{root} is a LeRobot {version} dataset; this tool reads v3. "
            f"Make one from it with 'svm-robot data import {root} --out=NEW'"
        )
    raise DataError(f"{root} has dataset version '{version}'; this tool reads LeRobot v3 (v3.0, v3.1, ...)")


def read_layout(root: Path) -> Layout:
    """Metadata of a dataset. Raises ``DataError`` when it is no v3 dataset or its parts contradict each other."""
    info = read_info(root)
    files = sorted((root / "meta" / "episodes").glob("*/*.parquet"))
    rows = [row | found_in(file) for file in files for row in episode_rows(file)]
    rows = sorted((row for row in rows if row["episode_index"] < info["total_episodes"]), key=episode_index)
    if [row["episode_index"] for row in rows] != list(range(info["total_episodes"])):
        raise DataError(
            f"{root} is unfinished: {INFO} counts {info['total_episodes']} episodes, meta/episodes describes "
            f"{len(rows)} of them. The program that recorded it was probably killed before it finalized the dataset"
        )
    return Layout(root, info, tuple(without_shared_digests(rows)))


def without_shared_digests(rows: Sequence[Row]) -> list[Row]:
    """The rows with the digests emptied of files in which other episodes lie too.

    LeRobot's own tools join files and copy such entries as they are: they speak of files that are no more.
    """
    noted = {name for row in rows for name in row if name.startswith(DIGEST)}
    holds = {name: Counter(place_of(row, name) for row in rows) for name in noted}
    return [
        {**row, **{name: "" for name in noted & row.keys() if holds[name][place_of(row, name)] > 1}} for row in rows
    ]


def place_of(row: Row, noted: str) -> tuple[Any, Any]:
    """Chunk and number of the file that an entry with a digest is about."""
    key = noted.removeprefix(DIGEST)
    prefix = key if key == "data" else f"videos/{key}"
    return row.get(f"{prefix}/chunk_index"), row.get(f"{prefix}/file_index")


def found_in(file: Path) -> Row:
    """Chunk and number of a metadata file, for its rows: what they say of it is wrong where LeRobot merged datasets."""
    found = re.fullmatch(r"chunk-(\d+)/file-(\d+)\.parquet", "/".join(file.parts[-2:]))
    return {} if found is None else {f"{ABOUT}/chunk_index": int(found[1]), f"{ABOUT}/file_index": int(found[2])}


def episode_index(row: Row) -> int:
    """Sorting key of episode rows."""
    return int(row["episode_index"])


def episode_rows(file: Path) -> list[Row]:
    """Rows of one file of episode metadata, without the statistics."""
    return list(read_parquet(file, lambda name: not name.startswith("stats/"))[0].to_pylist())


def read_parquet(file: Path, columns: Sequence[str] | Callable[[str], bool] | None) -> tuple[pa.Table, pa.Schema]:
    """Table and full schema of a Parquet file; a torn file is named as such. ``columns``: which to read, None all."""
    try:
        with pq.ParquetFile(file) as parquet:
            schema = parquet.schema_arrow
            names = filter(columns, schema.names) if callable(columns) else columns
            return parquet.read(columns=None if names is None else list(names)), schema
    except FileNotFoundError as error:
        raise DataError(f"{file} is missing although the dataset counts episodes in it") from error
    except (pa.ArrowInvalid, OSError) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"{file} is unfinished or damaged ({reason}). The program that recorded it was probably killed before "
            "it finalized the dataset"
        ) from error
