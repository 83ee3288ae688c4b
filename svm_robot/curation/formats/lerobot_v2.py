"""Reads LeRobot v2.0 and v2.1: one Parquet file and one video file for each episode, metadata as lines of JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from svm_robot.curation.formats.clips import Probe, UnreadableError, in_order, probe
from svm_robot.curation.formats.features import Plan, plan_features
from svm_robot.curation.formats.files_at import Finder, read_json_lines, refuse_pointers
from svm_robot.curation.formats.opened import ImportOptions, Opened
from svm_robot.curation.formats.pieces import Frames, Header, Piece, assemble, real_cameras
from svm_robot.curation.formats.rows import EpisodeError, survey
from svm_robot.curation.formats.whole import ROWS, Missing, restrict, whole_ones
from svm_robot.curation.rebuild.source import Clip
from svm_robot.data.layout import read_parquet
from svm_robot.data.schema import Feature

VERSIONS = ("v2.0", "v2.1")
CHUNK = 1000
"""Episodes in a folder, where the metadata does not say."""


@dataclass(frozen=True)
class Disk:
    """Where the parts of a v2 dataset are looked for."""

    header: Header
    data: Finder
    videos: Finder
    chunk_size: int
    tasks: Mapping[int, str]


def open_v2(header: Header, info: Mapping[str, Any], options: ImportOptions) -> Opened:
    """A v2 dataset as a source. Raises ``DataError`` when something is missing and was not waived."""
    root = header.root
    plan = restrict(plan_features(info["features"], str(root)), options)
    described = {int(row["episode_index"]): row for row in read_json_lines(root / "meta" / "episodes.jsonl")}
    disk = Disk(
        header,
        Finder(root, "data", str(info["data_path"])),
        Finder(root, "videos", str(info.get("video_path"))),
        int(info.get("chunks_size") or CHUNK),
        {int(row["task_index"]): str(row["task"]) for row in read_json_lines(root / "meta" / "tasks.jsonl")},
    )
    missing = Missing(root, len(described), len(plan.cameras))
    pieces = [found for row in described.values() if (found := find_episode(row, disk, plan, missing)) is not None]
    kept = whole_ones(pieces, missing, options)
    notes = [
        f"{len(finder.elsewhere)} files lie elsewhere than the metadata says, the first is {finder.elsewhere[0]}"
        for finder in (disk.data, disk.videos)
        if finder.elsewhere
    ]
    encoded = sorted({key for piece in kept for key in piece.frames})
    if encoded:
        notes.append(f"encoded anew, because its frames are not shown at {header.rate_hz} Hz: {', '.join(encoded)}")
    plan = real_cameras(plan, kept, header.rate_hz)
    return assemble(header, plan, kept, missing.numbers(), [*plan.notes, *notes])


def find_episode(row: Mapping[str, Any], disk: Disk, plan: Plan, missing: Missing) -> Piece | None:
    """One episode, or None when not all of it is there: ``missing`` is told why."""
    number = int(row["episode_index"])
    chunk = number // disk.chunk_size
    place = {"episode_chunk": chunk, "chunk_index": chunk, "episode_index": number}
    file = disk.data.find("", **place)
    if file is None:
        missing.add(number, ROWS, "the data file is missing")
        return None
    refuse_pointers([file], disk.header.root)
    read = partial(whole_file, file)
    try:
        seen = survey(read(), plan, disk.tasks, str((row.get("tasks") or [""])[0]), disk.header.rate_hz)
        if seen.length != int(row.get("length", seen.length)):
            raise EpisodeError(f"the metadata counts {row['length']} frames, the data file {seen.length}")
    except EpisodeError as error:
        missing.add(number, ROWS, str(error))
        return None
    clips, frames = find_pictures(number, seen.length, place, disk, plan, missing)
    return None if missing.misses(number) else Piece(number, seen, read, clips, frames)


def find_pictures(
    number: int, length: int, place: Mapping[str, int], disk: Disk, plan: Plan, missing: Missing
) -> tuple[dict[str, Clip], dict[str, Frames]]:
    """An episode's videos: those that can be copied, and those whose frames are not shown at the dataset's rate."""
    clips: dict[str, Clip] = {}
    frames: dict[str, Frames] = {}
    for key, feature in plan.cameras.items():
        video = disk.videos.find(key, video_key=key, **place)
        if video is None:
            missing.add(number, key, "the video is missing")
            continue
        refuse_pointers([video], disk.header.root)
        try:
            found = probe(video)
        except UnreadableError:
            missing.add(number, key, "the video cannot be opened")
            continue
        first = found.first_tick(disk.header.rate_hz)
        if reason := misfit(found, feature, length):
            missing.add(number, key, reason)
        elif first is None:
            frames[key] = partial(in_order, video)
        else:
            clips[key] = Clip(video, first, length, disk.header.rate_hz)
    return clips, frames


def whole_file(path: Path) -> pa.Table:
    """All rows of a file."""
    return read_parquet(path, None)[0]


def misfit(found: Probe, feature: Feature, length: int) -> str:
    """What keeps a video from being that of an episode; empty when it fits."""
    if found.frames != length:
        return "the video does not hold one frame for each row"
    sides = {int(side) for side in feature["shape"]}
    if not {found.height, found.width} <= sides:
        return f"the video is {found.width}x{found.height}, the metadata says {feature['shape']}"
    return ""
