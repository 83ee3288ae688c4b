"""Reads LeRobot v3.0 of any origin: many episodes in a file, which may be named and typed as no other tool would."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from svm_robot.curation.formats.clips import Probe, UnreadableError, probe
from svm_robot.curation.formats.features import Plan, plan_features
from svm_robot.curation.formats.files_at import refuse_pointers
from svm_robot.curation.formats.opened import ImportOptions, Opened
from svm_robot.curation.formats.pieces import Header, Piece, assemble, real_cameras
from svm_robot.curation.formats.rows import EpisodeError, survey
from svm_robot.curation.formats.whole import ROWS, Missing, restrict, whole_ones
from svm_robot.curation.rebuild.source import Clip
from svm_robot.data.layout import TASKS, Layout, Row, read_layout, read_parquet
from svm_robot.data.pictures import first_frame
from svm_robot.data.tables import read_tasks
from svm_robot.errors import DataError

VERSIONS = ("v3.0",)


def open_v3(header: Header, info: Mapping[str, Any], options: ImportOptions) -> Opened:
    """A v3 dataset as a source. Raises ``DataError`` when something is missing and was not waived."""
    root = header.root
    refuse_pointers([*sorted((root / "meta").rglob("*.parquet")), root / TASKS], root)
    if not any((root / "meta" / "episodes").glob("*/*.parquet")):
        raise DataError(
            f"{root} counts {info['total_episodes']} episodes but has no meta/episodes: the program that recorded it "
            f"was probably killed before it finalized the dataset. Try 'svm-robot data repair' on a copy of it"
        )
    layout = read_layout(root)
    plan = restrict(plan_features(info["features"], str(root)), options)
    tasks = read_tasks(root)
    missing = Missing(root, len(layout.episodes), len(plan.cameras))
    files = Files(root)
    pieces = [
        found
        for row in layout.episodes
        if (found := find_episode(layout, row, files, tasks, plan, header.rate_hz, missing)) is not None
    ]
    kept = whole_ones(pieces, missing, options)
    return assemble(header, real_cameras(plan, kept, header.rate_hz), kept, missing.numbers(), plan.notes)


def find_episode(
    layout: Layout, row: Row, files: "Files", tasks: Mapping[int, str], plan: Plan, rate_hz: int, missing: Missing
) -> Piece | None:
    """One episode, or None when not all of it is there: ``missing`` is told why."""
    number, length = int(row["episode_index"]), int(row["length"])
    file = layout.data_file(row)
    if not file.is_file():
        missing.add(number, ROWS, "the data file is missing")
        return None
    read = partial(files.rows, file, number)
    try:
        seen = survey(read(), plan, tasks, str((row.get("tasks") or [""])[0]), rate_hz)
        if seen.length != length:
            raise EpisodeError(f"the metadata counts {length} frames, the data file {seen.length}")
    except EpisodeError as error:
        missing.add(number, ROWS, str(error))
        return None
    clips = {}
    for key in plan.cameras:
        video, first = layout.video_file(row, key), first_frame(row, key, rate_hz)
        if reason := files.unfit(video, first, length, rate_hz):
            missing.add(number, key, reason)
        clips[key] = Clip(video, first, length, rate_hz)
    return None if missing.misses(number) else Piece(number, seen, read, clips)


class Files:
    """Files with many episodes: each is opened once for all of them, and one at a time is kept in memory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._table: tuple[Path, pa.Table] | None = None
        self._probes: dict[Path, Probe] = {}

    def rows(self, file: Path, number: int) -> pa.Table:
        """The rows of one episode."""
        if self._table is None or self._table[0] != file:
            refuse_pointers([file], self.root)
            self._table = file, read_parquet(file, None)[0]
        table = self._table[1]
        return table.filter(pc.equal(table["episode_index"], number))

    def unfit(self, video: Path, first: int, length: int, rate_hz: int) -> str:
        """What keeps a video from holding an episode; empty when it does."""
        if not video.is_file():
            return "the video is missing"
        try:
            if video not in self._probes:
                refuse_pointers([video], self.root)
                self._probes[video] = probe(video)
        except UnreadableError:
            return "the video cannot be opened"
        ticks = np.round(self._probes[video].times_s * rate_hz).astype(int)
        whole = np.isin(np.arange(first, first + length), ticks).all()
        return "" if whole else "the video does not hold one frame for each row"
