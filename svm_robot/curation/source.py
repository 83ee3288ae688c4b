"""A dataset as episodes that can be taken one by one, so that another can be built from them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from svm_robot.data.commit import Table
from svm_robot.data.episode_stats import Stats
from svm_robot.data.labels import Label
from svm_robot.data.provenance import Provenance
from svm_robot.rollout.env import ImageArray


@dataclass(frozen=True)
class Clip:
    """The frames of one episode within a video file."""

    path: Path
    first_frame: int
    """Number of the first one in the file, counted at ``rate_hz`` from time 0."""
    frames: int
    rate_hz: float


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
    """A v3 dataset, ours or anyone's. Raises ``DataError`` when it is none or is damaged."""
    raise NotImplementedError(root)
