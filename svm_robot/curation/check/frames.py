"""Examines the video files: every row of every episode must find its frame, as LeRobot looks for it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from svm_robot.curation.check.findings import Ledger
from svm_robot.curation.check.meta import Meta
from svm_robot.curation.check.reading import why
from svm_robot.curation.check.rows import Rows
from svm_robot.data.files import file_digest
from svm_robot.data.layout import DIGEST, Row
from svm_robot.data.pictures import camera_size
from svm_robot.data.video import share_out

TOLERANCE_S = 1e-4
"""How far a frame may be from its row; LeRobot's own default."""


@dataclass(frozen=True)
class Decoded:
    """What a video file really holds."""

    times_s: NDArray[np.float64]
    """(T,) times of the frames that decode, in ascending order."""
    size: tuple[int, int] | None
    """(height, width)."""
    error: str = ""
    """Why decoding ended early, as the rest of a sentence that begins with the file's name."""
    spoilt: int = 0
    """Frames of which the decoder says that they are damaged."""


def check_frames(meta: Meta, rows: Rows, ledger: Ledger, deep: bool, tick: Callable[[int], None]) -> None:
    """Examine every camera of every counted episode. ``tick`` hears how many clips were looked at."""
    for key in meta.video_keys:
        by_file: dict[Path, list[Row]] = {}
        for row in meta.rows.values():
            by_file.setdefault(meta.video_file(row, key), []).append(row)
        for file in sorted(by_file):
            here = sorted(by_file[file], key=lambda row: float(row[f"videos/{key}/from_timestamp"]))
            episodes = [int(row["episode_index"]) for row in here]
            with ledger.guard("video", str(file.relative_to(meta.root)), *episodes):
                check_video(meta, file, key, here, rows, ledger, deep)
            tick(len(here))


def check_video(meta: Meta, file: Path, key: str, here: list[Row], rows: Rows, ledger: Ledger, deep: bool) -> None:
    """Examine one file: by its digest where one was noted, else frame by frame."""
    name, episodes = str(file.relative_to(meta.root)), [int(row["episode_index"]) for row in here]
    noted = here[0].get(f"{DIGEST}{key}")
    changed = bool(noted) and file.is_file() and file_digest(file) != noted
    if noted and file.is_file() and not changed and not deep:
        length = int(here[0]["length"])  # verified when it was saved, and the same bytes since
        held = Decoded(np.arange(length) / meta.rate_hz, camera_size(meta.features[key]))
    else:
        held = decode(file)
    if held.size is None:
        ledger.wrong("video", f"{name} {held.error or 'holds no frame that decodes'}", *episodes)
        return
    before = len(ledger.broken)
    for row in here:
        check_clip(meta, row, name, key, held, rows, ledger)
    check_whole_file(meta, name, key, here, held, ledger)
    if changed and len(ledger.broken) == before:
        ledger.wrong("digest", f"{name} is not what was recorded: its SHA-256 changed since", *episodes)


def decode(file: Path) -> Decoded:
    """Decode a whole file, as far as it goes."""
    times: list[float] = []
    size: tuple[int, int] | None = None
    spoilt = 0
    error = ""
    try:
        with av.logging.Capture(), av.open(str(file)) as container:  # its complaints end up in the report
            stream = container.streams.video[0]
            share_out(stream)
            for frame in container.decode(stream):
                size = size or (frame.height, frame.width)
                spoilt += bool(frame.is_corrupt)
                if frame.pts is not None and frame.time_base is not None:
                    times.append(float(frame.pts * frame.time_base))
    except (av.error.FFmpegError, IndexError, OSError, ValueError) as problem:
        error = why(file, problem)
    return Decoded(np.sort(np.array(times, np.float64)), size, error, spoilt)


def check_clip(meta: Meta, row: Row, name: str, key: str, held: Decoded, rows: Rows, ledger: Ledger) -> None:
    """Every row of one episode must find its frame."""
    index, length = int(row["episode_index"]), int(row["length"])
    begin = float(row[f"videos/{key}/from_timestamp"])
    relative = rows.timestamps.get(index, np.arange(length) / meta.rate_hz)
    wanted = begin + relative
    place = np.searchsorted(held.times_s, wanted).clip(1, max(1, len(held.times_s) - 1))
    near = np.minimum(
        np.abs(held.times_s[place - 1] - wanted),
        np.abs(held.times_s[np.minimum(place, len(held.times_s) - 1)] - wanted),
    )
    missing = np.flatnonzero(~(near < TOLERANCE_S))
    if len(missing):
        text = f"{key}: {len(missing)} of {len(wanted)} rows have no frame in {name}, the first is frame {missing[0]}"
        ledger.wrong("frames", f"{text} ({name} {held.error})" if held.error else text, index)
    span = (float(row[f"videos/{key}/to_timestamp"]) - begin) * meta.rate_hz
    if abs(span - length) > 0.5:
        text = f"{key}: metadata gives it {span:.1f} frames of {name} for {length} rows"
        ledger.wrong("frames", text, index)


def check_whole_file(meta: Meta, name: str, key: str, here: list[Row], held: Decoded, ledger: Ledger) -> None:
    """The size, an even spacing, and no frame that belongs to nobody."""
    episodes = [int(row["episode_index"]) for row in here]
    want = camera_size(meta.features[key])
    if held.size != want:
        got = "x".join(map(str, reversed(held.size or ())))
        ledger.wrong("video", f"{name} is {got}, info.json promises {want[1]}x{want[0]}", *episodes)
    if held.spoilt:
        ledger.wrong("video", f"{name}: the decoder calls {held.spoilt} frames damaged", *episodes)
    steps = np.diff(held.times_s)
    uneven = np.flatnonzero(np.abs(steps - 1 / meta.rate_hz) > TOLERANCE_S)
    if len(uneven) and not ledger.broken & set(episodes):
        at = held.times_s[uneven[0]]
        ledger.wrong("frames", f"{name}: the frames are not evenly spaced, the first gap is at {at:.3f} s", *episodes)
    end = max(float(row[f"videos/{key}/to_timestamp"]) for row in here)
    unused = int(np.sum(held.times_s > end - 0.5 / meta.rate_hz))
    if unused and len(here) == 1 and not ledger.broken & set(episodes):
        ledger.wrong("frames", f"{key}: {name} holds {unused} frames more than there are rows", *episodes)
    elif unused:
        ledger.note("frames", f"{name} holds {unused} frames after its last episode")
    precise_to = 2.0**10  # beyond it LeRobot's single-precision seconds are coarser than its own tolerance
    if end > precise_to and not ledger.broken & set(episodes):
        text = f"{name} is {end:.0f} s long; LeRobot cannot tell frames apart after {precise_to:.0f} s"
        ledger.wrong("frames", f"{text}. Nothing is lost: 'svm-robot data repair' makes a file for each episode")
