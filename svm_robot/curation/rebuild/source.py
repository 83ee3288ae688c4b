"""A dataset as episodes that can be taken one by one, so that another can be built from them."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from svm_robot.curation.rebuild.rows import RowReader
from svm_robot.data import columns
from svm_robot.data.episode_stats import Stats
from svm_robot.data.labels import Label, LabelLog
from svm_robot.data.layout import DIGEST, Layout, Row, read_layout
from svm_robot.data.pictures import first_frame
from svm_robot.data.provenance import Provenance, read_provenance
from svm_robot.data.schema import vector
from svm_robot.data.tables import read_tasks
from svm_robot.errors import DataError
from svm_robot.recording.commit import Table
from svm_robot.rollout.env import ImageArray

UID = "svm/episode_uid"
"""Entry of the episode's metadata."""

NOT_EXTRAS = ("data/", "videos/", "meta/episodes/", "stats/", DIGEST)
LEROBOTS = ("episode_index", "tasks", "length", "dataset_from_index", "dataset_to_index", "data_index")


@dataclass(frozen=True)
class Clip:
    """The frames of one episode within a video file."""

    path: Path
    first_frame: int
    """Number of the first one in the file, counted at ``rate_hz`` from time 0."""
    frames: int
    rate_hz: float
    digest: str = ""
    """SHA-256 of the file, where it was noted when the file was saved; then the file holds nothing but this clip."""


def no_stats() -> Mapping[str, Stats]:
    """Nothing is known of the pictures yet."""
    return {}


@dataclass(frozen=True)
class SourceEpisode:
    """One episode that can be put into another dataset. Nothing is read before it is asked for."""

    uid: int
    task: str
    length: int
    table: Callable[[], Table]
    """Column -> (T,) or (T, ...) numbers or an Arrow array of T: no bookkeeping and no video columns; pictures inside
    the rows as Arrow structs; ``commit.TASK`` with the sentence of each row where there is more than one."""
    clips: Mapping[str, Clip]
    """Camera column -> its frames, which are copied as they are."""
    frames: Mapping[str, Callable[[], Iterator[ImageArray]]] = field(default_factory=dict)
    """Camera column -> (H, W, 3) RGB pictures that must still be encoded, for importers."""
    extras: Mapping[str, int | float | str] = field(default_factory=dict)
    """Further entries of the episode's metadata."""
    source: str = ""
    """Name of the dataset it came from."""
    source_index: int = 0
    picture_stats: Callable[[], Mapping[str, Stats]] = no_stats
    """Statistics of camera columns, where the source knows them; the others are computed."""


@dataclass(frozen=True)
class Source:
    """A dataset to take episodes from."""

    name: str
    info: dict[str, Any]
    """As in ``meta/info.json``: features, fps, robot_type."""
    episodes: Sequence[SourceEpisode]
    labels: Sequence[Label]
    """The lines of the log, oldest first."""
    provenance: Provenance
    fingerprint: str = ""
    """As ``Dataset.fingerprint``; empty where nothing like it exists."""


def open_source(root: Path) -> Source:
    """The dataset at ``root``. Raises ``DataError`` when it is no v3 dataset or its numbers are damaged.

    An episode without a uid gets one that follows from its numbers, so that the same episode has the same one always.
    """
    root = Path(root)
    layout = read_layout(root)
    tasks = read_tasks(root) if layout.episodes else {}
    reader = RowReader(layout, tasks)
    ours = columns.EPISODE_UID in layout.info["features"]
    uids, fingerprint = number_all(layout, reader, ours)
    episodes = [build(layout, reader, row, uid) for row, uid in zip(layout.episodes, uids, strict=True)]
    features = layout.info["features"] | ({} if ours else {columns.EPISODE_UID: vector("int64", 1)})
    return Source(
        name=root.name,
        info=layout.info | {"features": features},
        episodes=episodes,
        labels=read_labels(root, None if ours else uids),
        provenance=read_provenance(root),
        fingerprint=fingerprint,
    )


def build(layout: Layout, reader: RowReader, row: Row, uid: int) -> SourceEpisode:
    """One episode; its rows are read when they are asked for."""
    return SourceEpisode(
        uid=uid,
        task=reader.task_of(row),
        length=int(row["length"]),
        table=partial(with_uid, reader, row, uid),
        clips={key: clip_of(layout, row, key) for key in video_columns(layout)},
        extras=extras_of(row) | {UID: uid},
        source=layout.root.name,
        source_index=int(row["episode_index"]),
        picture_stats=partial(reader.picture_stats, row),
    )


def with_uid(reader: RowReader, row: Row, uid: int) -> Table:
    """The rows of an episode, with its uid in each."""
    return {**reader.read(row), columns.EPISODE_UID: np.full(int(row["length"]), uid, np.int64)}


def video_columns(layout: Layout) -> list[str]:
    """Columns kept as video, depth maps included."""
    return [key for key, feature in layout.info["features"].items() if feature["dtype"] == "video"]


def clip_of(layout: Layout, row: Row, key: str) -> Clip:
    """Where the frames of one camera of an episode lie."""
    rate_hz = float(layout.info["fps"])
    noted = str(row.get(DIGEST + key) or "")
    return Clip(layout.video_file(row, key), first_frame(row, key, rate_hz), int(row["length"]), rate_hz, noted)


def extras_of(row: Row) -> dict[str, int | float | str]:
    """Plain entries of an episode's metadata that are neither LeRobot's own nor tell where its files lie."""
    return {
        name: value
        for name, value in row.items()
        if isinstance(value, int | float | str) and name not in LEROBOTS and not name.startswith(NOT_EXTRAS)
    }


def number_all(layout: Layout, reader: RowReader, ours: bool) -> tuple[list[int], str]:
    """The uid of every episode, and the dataset's fingerprint (see ``Dataset.fingerprint``)."""
    uids: list[int] = []
    seen: Counter[str] = Counter()
    digest = hashlib.sha256()
    for row in layout.episodes:
        table = reader.numbers(row)
        if ours:
            uids.append(uid_in(table, layout, row))
        else:
            content = content_digest(table)
            uids.append(content_uid(content, seen[content]))
            seen[content] += 1
        known = uids[-1] if ours else int(row["episode_index"])
        digest.update(f"{known} {row['length']} ".encode())
        for name in (columns.STATE, columns.ACTION):
            if name in table:
                digest.update(np.asarray(table[name], np.float32).tobytes())
    return uids, digest.hexdigest()[:16]


def uid_in(table: Table, layout: Layout, row: Row) -> int:
    """The uid that an episode's rows carry. Raises ``DataError`` when they do not agree."""
    found = np.unique(np.asarray(table[columns.EPISODE_UID]))
    if len(found) != 1:
        raise DataError(f"{layout.root}: the rows of episode {row['episode_index']} carry {len(found)} uids")
    return int(found[0])


def content_digest(table: Table) -> str:
    """Hash of an episode's numbers and words; pictures are left out."""
    digest = hashlib.sha256()
    for name in sorted(table):
        values = table[name]
        digest.update(name.encode())
        digest.update(values.tobytes() if isinstance(values, np.ndarray) else repr(values.to_pylist()).encode())
    return digest.hexdigest()


def content_uid(content: str, twin: int = 0) -> int:
    """A uid of 62 bits from a hash; ``twin`` counts earlier episodes of the dataset with the same one."""
    digest = hashlib.sha256(f"{content} {twin}".encode() if twin else content.encode())
    return int.from_bytes(digest.digest()[:8]) >> 2


def read_labels(root: Path, uids: Sequence[int] | None) -> list[Label]:
    """The label log; where labels hang on indices, because there were no uids, they are hung on ``uids``."""
    labels = LabelLog(root).entries()
    if uids is None:
        return labels
    by_index: Mapping[int, int] = dict(enumerate(uids))
    return [
        replace(label, episode_uid=by_index[label.episode_uid]) for label in labels if label.episode_uid in by_index
    ]
