"""Finds episodes again whose rows and frames are there, but whose metadata or file footer is not.

That is what a killed LeRobot recording leaves: a data file without its footer, no metadata, whole videos, and an
info.json that counts episodes which nothing describes. What is found is laid out as a dataset in a temporary folder,
to be examined like any other; nothing of the damaged one is touched.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import pyarrow as pa
import pyarrow.parquet as pq

from svm_robot.curation.check.episodes import numbers_in
from svm_robot.curation.check.examine import Report, examine
from svm_robot.curation.check.meta import Meta
from svm_robot.curation.check.reading import read_table
from svm_robot.curation.check.values import arrow_type
from svm_robot.curation.mend.footer import read_without_footer
from svm_robot.data.files import publish_json
from svm_robot.data.layout import DIGEST, EPISODES, INFO, TASKS, Row
from svm_robot.errors import DataError

PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


@dataclass(frozen=True)
class Found:
    """The rows of one episode in a data file."""

    file: Path
    """Relative to the dataset."""
    length: int
    begin: int
    """Index of its first row."""
    tasks: list[str]
    whole: bool
    """False when the file had no footer: written anew, it has another digest than was noted."""


def is_worth_trying(meta: Meta) -> bool:
    """True when counted episodes lack their metadata, or a data file cannot be read."""
    return len(meta.rows) < meta.counted or any(not is_readable(file) for file in data_files(meta.root))


@contextmanager
def salvaged(meta: Meta) -> Iterator[tuple[Report, Meta | None]]:
    """What can be found again, examined; the folder it lies in is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="svm-robot-salvage-") as name:
        folder = Path(name)
        found = lay_out_rows(meta, folder)
        rows = [row for index, row in rows_of(meta, found).items() if index < meta.counted]
        frames = sum(int(row["length"]) for row in rows)
        (folder / INFO).parent.mkdir(exist_ok=True)
        publish_json({**meta.info, "total_episodes": meta.counted, "total_frames": frames}, folder / INFO)
        for link in (TASKS, Path("videos")):
            if (meta.root / link).exists():
                (folder / link).symlink_to((meta.root / link).resolve())
        if rows:
            place = folder / EPISODES.format(chunk_index=0, file_index=0)
            place.parent.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(rows), place)
        yield examine(folder)


def data_files(root: Path) -> list[Path]:
    """Every data file, counted or not, in LeRobot's order."""
    return sorted((root / "data").glob("*/*.parquet"))


def is_readable(file: Path) -> bool:
    """True when a Parquet file has its footer."""
    try:
        read_table(file, [])
    except DataError:
        return False
    return True


def lay_out_rows(meta: Meta, folder: Path) -> dict[int, Found]:
    """Data files in the new folder: linked where they are whole, written anew where they have no footer."""
    found: dict[int, Found] = {}
    twice: set[int] = set()
    for file in data_files(meta.root):
        name = file.relative_to(meta.root)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            whole = is_readable(file)
            if whole:
                (folder / name).symlink_to(file.resolve())
            else:
                pq.write_table(read_without_footer(file, *schema_of(meta)), folder / name)
            episodes = episodes_in(meta, folder / name, name, whole)
        except (DataError, pa.ArrowException, OSError, KeyError):
            continue
        twice |= found.keys() & episodes.keys()
        found |= episodes
    return {index: found[index] for index in sorted(found) if index not in twice}


def schema_of(meta: Meta) -> tuple[pa.Schema, list[int]]:
    """The columns as LeRobot writes them, and how many values a row has in each leaf column."""
    fields, widths = [], []
    for key, feature in meta.features.items():
        if feature["dtype"] == "video":
            continue
        if feature["dtype"] == "image":
            fields.append(pa.field(key, PICTURE))
            widths += [1, 1]
            continue
        kind, width = arrow_type(feature["dtype"]), 1
        for length in reversed([] if feature["shape"] == [1] else feature["shape"]):
            kind, width = pa.list_(kind, length), width * length
        fields.append(pa.field(key, kind))
        widths.append(width)
    return pa.schema(fields), widths


def episodes_in(meta: Meta, file: Path, name: Path, whole: bool) -> dict[int, Found]:
    """The episodes of one data file."""
    table = read_table(file, ["episode_index", "index", "task_index"])
    places: dict[int, list[int]] = {}
    for place, index in enumerate(table["episode_index"].to_pylist()):
        places.setdefault(index, []).append(place)
    begins, tasks = table["index"].to_pylist(), table["task_index"].to_pylist()
    return {
        index: Found(
            name,
            len(rows),
            begins[rows[0]],
            [meta.tasks[number] for number in dict.fromkeys(tasks[row] for row in rows) if number < len(meta.tasks)],
            whole,
        )
        for index, rows in places.items()
    }


def rows_of(meta: Meta, found: Mapping[int, Found]) -> dict[int, Row]:
    """Metadata of every episode that was found: its own where there is one, else made from its rows and the videos."""
    clips = {key: place_clips(meta, key, found) for key in meta.video_keys}
    rows: dict[int, Row] = {}
    for index, episode in found.items():
        known = meta.rows.get(index)
        if known is not None:
            rows[index] = known if episode.whole else {**known, f"{DIGEST}data": ""}
        elif all(index in places for places in clips.values()):
            row: Row = {"episode_index": index, "tasks": episode.tasks, "length": episode.length}
            row |= {f"data/{name}": number for name, number in numbers_in(episode.file).items()}
            row |= {"dataset_from_index": episode.begin, "dataset_to_index": episode.begin + episode.length}
            for places in clips.values():
                row |= places[index]
            rows[index] = row
    return rows


def place_clips(meta: Meta, key: str, found: Mapping[int, Found]) -> dict[int, dict[str, Any]]:
    """Where the frames of episodes without metadata must lie: right after those of the episode before.

    Nothing is guessed: where an episode, a file or a number is left out, or where frames and rows do not add up to the
    end of a file, the rest stays unplaced.
    """
    files = sorted((meta.root / "videos" / key).glob("*/*.mp4"))
    placed: dict[int, dict[str, Any]] = {}
    here: dict[int, dict[str, Any]] = {}
    at, offset, before = -1, 0, -1
    frames = 0
    for index, episode in found.items():
        known = meta.rows.get(index)
        if known is not None and meta.video_file(known, key) in files:
            placed, here = placed | here, {}
            at = files.index(meta.video_file(known, key))
            offset = round(float(known[f"videos/{key}/to_timestamp"]) * meta.rate_hz)
            frames, before = count_frames(files[at]), index
            continue
        if index != before + 1:
            return placed | (here if offset == frames else {})
        if offset >= frames:
            placed, here = placed | here, {}
            if at + 1 == len(files) or (at >= 0 and not follows(files[at], files[at + 1], meta)):
                return placed
            at, offset, frames = at + 1, 0, count_frames(files[at + 1])
        if offset + episode.length > frames:
            return placed
        here[index] = clip(files[at], key, offset, episode.length, meta.rate_hz)
        offset, before = offset + episode.length, index
    return placed | here


def clip(file: Path, key: str, offset: int, length: int, rate_hz: float) -> dict[str, Any]:
    """The entries of an episode's metadata that tell where the frames of one camera lie."""
    span = {"from_timestamp": offset / rate_hz, "to_timestamp": (offset + length) / rate_hz}
    return {f"videos/{key}/{name}": value for name, value in {**numbers_in(file), **span}.items()}


def follows(file: Path, other: Path, meta: Meta) -> bool:
    """True when no file is missing between two."""
    size = int(meta.info.get("chunks_size", 1000))
    first, second = ((n["chunk_index"] * size + n["file_index"]) if (n := numbers_in(f)) else -9 for f in (file, other))
    return second == first + 1


def count_frames(file: Path) -> int:
    """Frames that a video file holds, not decoded; 0 for a torn one."""
    try:
        with av.logging.Capture(), av.open(str(file)) as container:
            return sum(1 for packet in container.demux(container.streams.video[0]) if packet.size)
    except (av.error.FFmpegError, IndexError, OSError):
        return 0
