"""Builds a dataset from episodes of others: beside its place, verified, and only then put there."""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa

from svm_robot.curation.check.examine import check_dataset
from svm_robot.curation.rebuild.bake import bake, with_outcome_columns
from svm_robot.curation.rebuild.clips import encode, take
from svm_robot.curation.rebuild.place import aside, check_target, put_in_place
from svm_robot.curation.rebuild.source import UID, SourceEpisode
from svm_robot.curation.rebuild.still import still_stats
from svm_robot.data import columns
from svm_robot.data.episode_stats import Stats
from svm_robot.data.files import publish_json, publish_text
from svm_robot.data.labels import FILE, Label, stacks, to_line
from svm_robot.data.layout import CHUNK_SIZE, DATA, INFO, VERSION, VIDEO, is_picture
from svm_robot.data.provenance import Provenance, write_provenance
from svm_robot.data.schema import BOOKKEEPING, vector
from svm_robot.errors import DataError
from svm_robot.recording.commit import Commit, Extras, Table
from svm_robot.recording.recovery import STAGING
from svm_robot.rollout.episode import Outcome

Progress = Callable[[int, int], None]
"""Told (episodes done, episodes in all)."""


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild made."""

    root: Path
    episodes: int
    frames: int
    backup: Path | None
    """Where the replaced dataset lies now."""
    encoded: tuple[str, ...]
    """Clips whose pictures had to be encoded, in words; all others were copied as they were."""


def rebuild(
    target: Path,
    info: dict[str, Any],
    episodes: Iterable[SourceEpisode],
    labels: Sequence[Label],
    provenance: Provenance,
    *,
    replace: bool = False,
    bake_labels: bool = False,
    progress: Progress | None = None,
) -> Rebuilt:
    """Build the dataset ``target`` of exactly these episodes, in this order, with the labels that hang on them.

    One data file, one metadata file and one video file per camera for each episode, as a recording has it.
    ``replace``: ``target`` is a dataset that makes way and is kept beside it. ``bake_labels`` writes the labels that
    count now into ``next.success``, ``next.reward`` and ``next.done``. Raises ``DataError`` when an episode is not
    whole or the result fails its check; then, and after a kill, nothing but a hidden folder beside it was touched.
    """
    chosen = list(episodes)
    check_target(target, replace)
    check_episodes(chosen)
    outcomes = {uid: lines[-1].outcome for uid, lines in stacks(labels).items() if lines}
    built = Builder(new_info(with_outcome_columns(info) if bake_labels else info), chosen)
    try:
        with aside(target) as root:
            built.fill(root, outcomes if bake_labels else None, progress)
            kept = [label for label in labels if label.episode_uid in {episode.uid for episode in chosen}]
            if kept:
                publish_text("".join(f"{to_line(label)}\n" for label in kept), root / FILE, durable=False)
            write_provenance(provenance, root)
            verify(root, chosen)
            backup = put_in_place(root, target, replace)
    except (OSError, av.error.FFmpegError, pa.ArrowException) as error:
        raise DataError(f"{target} could not be built ({error}); nothing was changed") from error
    return Rebuilt(target, len(chosen), sum(episode.length for episode in chosen), backup, tuple(built.encoded))


class Builder:
    """Fills a new folder, episode by episode."""

    def __init__(self, info: dict[str, Any], episodes: Sequence[SourceEpisode]) -> None:
        self.info, self.episodes = info, episodes
        self.encoded: list[str] = []

    def fill(self, root: Path, outcomes: Mapping[int, Outcome] | None, progress: Progress | None) -> None:
        """Write all episodes into ``root``; ``outcomes`` are baked into the rows unless None."""
        (root / INFO).parent.mkdir()
        publish_json(self.info, root / INFO, indent=4, durable=False)
        commit = Commit(root, self.info, {}, {}, None, durable=False)
        defaults = blanks(self.episodes)
        for number, episode in enumerate(self.episodes):
            try:
                self._add(commit, episode, defaults, outcomes)
            except DataError as error:
                raise DataError(f"{name(episode)}: {error}") from error
            if progress is not None:
                progress(number + 1, len(self.episodes))

    def _add(
        self, commit: Commit, episode: SourceEpisode, defaults: Extras, outcomes: Mapping[int, Outcome] | None
    ) -> None:
        staging = commit.root / STAGING
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
        table = dict(episode.table())
        check_finite(table)
        table[columns.EPISODE_UID] = np.full(episode.length, episode.uid, np.int64)
        extras = {**defaults, **episode.extras, UID: episode.uid}
        if outcomes is not None:
            outcome = outcomes.get(episode.uid)
            table |= bake(table, episode.length, outcome)
            extras["svm/outcome"] = str(outcome or "unlabelled")
        known = episode.picture_stats()
        videos = {key: staging / key / "video.mp4" for key in self._columns("video")}
        stats = {key: self._video(episode, key, path, known.get(key)) for key, path in videos.items()}
        for key in self._columns("image"):
            if key not in table:
                raise DataError(f"no pictures of {key}")
            stats[key] = known.get(key) or still_stats(table[key])
        commit.save(table, videos, episode.task, extras, {key: found for key, found in stats.items() if found})
        shutil.rmtree(staging)

    def _columns(self, dtype: str) -> list[str]:
        return [key for key, feature in self.info["features"].items() if feature["dtype"] == dtype]

    def _video(self, episode: SourceEpisode, key: str, path: Path, known: Stats | None) -> Stats | None:
        """Put the pictures of one camera into ``path``; their statistics, None for a depth map nobody knows them of."""
        path.parent.mkdir()
        if key in episode.clips:
            taken = take(episode.clips[key], path, known)
            if not taken.copied:
                self.encoded.append(f"{name(episode)}, {key}: it does not begin at a key frame")
            return taken.stats if known or is_picture(self.info["features"][key], "video") else None
        if key not in episode.frames:
            raise DataError(f"no pictures of {key}")
        self.encoded.append(f"{name(episode)}, {key}")
        return encode(episode.frames[key](), path, episode.length, float(self.info["fps"]))


def check_finite(table: Table) -> None:
    """Raise ``DataError`` that names the first number that is not finite: statistics and training break on it."""
    for key, values in table.items():
        if isinstance(values, np.ndarray) and values.dtype.kind == "f" and not np.isfinite(values).all():
            place = np.argwhere(~np.isfinite(values))[0]
            raise DataError(f"{key} is {values[tuple(place)]} in frame {place[0]}; a dataset holds finite numbers only")


def name(episode: SourceEpisode) -> str:
    """An episode in words."""
    return f"episode {episode.source_index} of {episode.source}" if episode.source else f"episode {episode.uid}"


def check_episodes(episodes: Sequence[SourceEpisode]) -> None:
    """Raise ``DataError`` when there are none, or the same one twice."""
    if not episodes:
        raise DataError("no episode would be left; a dataset needs at least one")
    seen: dict[int, SourceEpisode] = {}
    for episode in episodes:
        if episode.uid in seen:
            raise DataError(f"{name(seen[episode.uid])} and {name(episode)} are the same recording ({episode.uid})")
        seen[episode.uid] = episode


def blanks(episodes: Sequence[SourceEpisode]) -> dict[str, int | float | str]:
    """What an episode says that lacks an entry which others have: LeRobot wants the same ones of all."""
    blank: dict[str, int | float | str] = {}
    for episode in episodes:
        for key, value in episode.extras.items():
            empty: int | float | str = "" if isinstance(value, str) else -1 if isinstance(value, int) else float("nan")
            blank.setdefault(key, empty)
    return blank


def new_info(info: dict[str, Any]) -> dict[str, Any]:
    """``meta/info.json`` of the new dataset before its first episode."""
    features = info["features"] | {columns.EPISODE_UID: vector("int64", 1)}
    features |= {key: vector(dtype, 1) for key, dtype in BOOKKEEPING.items() if key not in features}
    has_video = any(feature["dtype"] == "video" for feature in features.values())
    fixed = {
        "codebase_version": VERSION,
        "features": features,
        "total_episodes": 0,
        "total_frames": 0,
        "total_tasks": 0,
        "chunks_size": CHUNK_SIZE,
        "data_path": DATA,
        "video_path": VIDEO if has_video else None,
        "splits": {},
    }
    return {"data_files_size_in_mb": 100, "video_files_size_in_mb": 200, "robot_type": None} | info | fixed


def verify(root: Path, episodes: Sequence[SourceEpisode]) -> None:
    """Raise ``DataError`` unless the new dataset passes its check."""
    report = check_dataset(root)
    if report.ok and len(report.verified) == len(episodes):
        return
    found = [
        f"{name(episodes[finding.episode]) if finding.episode is not None else 'dataset'}: {finding.text}"
        for finding in report.findings[:5]
    ]
    raise DataError(f"what was built is not whole, so nothing was changed: {'; '.join(found)}")
