"""Examines a dataset without changing it: which episodes are whole, and what is wrong with the others.

An episode is whole when LeRobot's own loader can read every item of it, and when it is what was recorded: no row
without its frames, no frame without its row, no number that is not finite, no byte changed since it was saved.
"""

from collections.abc import Callable
from pathlib import Path

from svm_robot.curation.check.extras import check_labels, check_stats, check_strays
from svm_robot.curation.check.findings import Finding, Ledger, Report
from svm_robot.curation.check.frames import check_frames
from svm_robot.curation.check.meta import Meta, read_info, read_meta
from svm_robot.curation.check.rows import Rows, check_rows

BESIDE = ("stats", "labels", "stray")
"""Kinds of findings about what every new episode changes."""

__all__ = ["Finding", "Report", "check_dataset", "examine"]

Progress = Callable[[int, int], None]
"""Told (pieces done, pieces in all); a piece is one episode's rows or one camera's frames of it."""


def check_dataset(root: Path, deep: bool = False, progress: Progress | None = None) -> Report:
    """Examine the dataset at ``root``. Never raises for what is on the disk, and never writes.

    Files whose digest was noted when they were saved are compared by it; the others are decoded. ``deep`` decodes all.
    """
    return examine(root, deep, progress)[0]


def examine(root: Path, deep: bool = False, progress: Progress | None = None) -> tuple[Report, Meta | None]:
    """The same with the metadata as far as it can be believed; None where it tells too little to look any further."""
    root, ledger, rows = Path(root), Ledger(), Rows()
    meta = None
    with ledger.guard("format", "the metadata cannot be read"):
        meta = read_meta(root, ledger)
    if meta is None:
        return Report(root, 0, 0, (), ledger.all_findings(), (), ()), None
    tick = Ticker(len(meta.rows) * (1 + len(meta.video_keys)), progress)
    with ledger.guard("data", "the data files cannot be read"):
        rows = check_rows(meta, ledger, tick)
    with ledger.guard("video", "the video files cannot be read"):
        check_frames(meta, rows, ledger, deep, tick)
    with ledger.guard("stats", "the statistics cannot be read"):
        check_stats(meta, rows, ledger)
    with ledger.guard("labels", "the labels cannot be read"):
        check_labels(meta, rows, ledger)
    with ledger.guard("stray", "the folders cannot be read"):
        check_strays(meta, ledger)
    if grew(meta):
        ledger.forget(*BESIDE)
        ledger.note("counters", "episodes were added while it was examined: what stands beside the episodes was not")
    verified = tuple(index for index in meta.rows if index not in ledger.broken)
    notes, leftovers = tuple(ledger.notes), tuple(ledger.leftovers)
    return Report(root, meta.counted, rows.total, verified, ledger.all_findings(), notes, leftovers), meta


def grew(meta: Meta) -> bool:
    """True when a recording has added episodes since the metadata was read."""
    now = read_info(meta.root, Ledger())
    return now is not None and now.get("total_episodes") != meta.counted


class Ticker:
    """Counts pieces and passes the sum on."""

    def __init__(self, pieces: int, progress: Progress | None) -> None:
        self.done, self.pieces, self.progress = 0, pieces, progress

    def __call__(self, number: int) -> None:
        """So many more pieces were looked at."""
        self.done += number
        if self.progress is not None:
            self.progress(self.done, self.pieces)
