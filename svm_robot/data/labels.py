"""The label log: what was said of each episode, by whom and when. Lines are only ever appended.

Labels hang on the episode's uid, so they survive renumbering. The current view is derived: the last line wins.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from svm_robot.data import columns
from svm_robot.data.layout import read_layout, read_parquet
from svm_robot.errors import DataError
from svm_robot.rollout.episode import Outcome
from svm_robot.version import __version__

VERSION = 1
FILE = "labels.jsonl"


@dataclass(frozen=True)
class Label:
    """One line of the log."""

    episode_uid: int
    outcome: Outcome
    by: str
    """Who said it: ``judge``, or a person's name."""
    time: float
    """Wall clock, seconds since 1970 (UTC): for people only, nothing is computed from it."""
    reason: str | None = None
    tool: str = __version__
    version: int = VERSION


class LabelLog:
    """Reads and appends ``labels.jsonl`` of one dataset. Two writers at once are both kept."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        self.root, self.path, self.clock = root, root / FILE, clock

    def set(self, uid: int, outcome: Outcome, by: str, reason: str | None = None) -> Label:
        """Label an episode of this dataset (again). Raises ``DataError`` for a uid the dataset does not have."""
        known = episode_uids(self.root)
        if uid not in known:
            raise DataError(f"{self.root} has no episode with uid {uid}; it has {len(known)} episodes")
        return self.append(uid, outcome, by, reason)

    def append(self, uid: int, outcome: Outcome, by: str, reason: str | None = None) -> Label:
        """Add a line; on disk when this returns. For the recorder, which knows that the episode exists."""
        label = Label(uid, Outcome(outcome), by, self.clock(), reason)
        line = json.dumps(asdict(label), ensure_ascii=False) + "\n"
        with self._locked() as handle:
            os.write(handle, line.encode())
            os.fsync(handle)
        return label

    def entries(self) -> list[Label]:
        """The whole log, oldest first."""
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8")
        whole = text.split("\n")[:-1]  # a torn last line (power cut) was never acknowledged
        return [self._parse(number, line) for number, line in enumerate(whole, start=1)]

    def history(self, uid: int) -> list[Label]:
        """Everything said of one episode, oldest first."""
        return [label for label in self.entries() if label.episode_uid == uid]

    def current(self) -> dict[int, Label]:
        """Episode uid -> the label that counts. Unlabelled episodes are absent."""
        return {label.episode_uid: label for label in self.entries()}

    def snapshot_hash(self) -> str:
        """Hash of the current view, for whatever was trained from it."""
        return snapshot_hash({uid: label.outcome for uid, label in self.current().items()})

    def _parse(self, number: int, line: str) -> Label:
        try:
            fields: dict[str, Any] = json.loads(line)
            if fields["version"] != VERSION:
                raise DataError(f"{self.path}, line {number}: version {fields['version']}, this tool reads {VERSION}")
            return Label(**{**fields, "outcome": Outcome(fields["outcome"])})
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self.path}, line {number}: not a label ({error})") from error

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """A handle at the end of the log, with the lock held and a torn last line cut off."""
        if not self.root.is_dir():
            raise DataError(f"no dataset at {self.root}: nothing to label")
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            _cut_torn_line(handle)
            yield handle
        finally:
            os.close(handle)


def snapshot_hash(outcomes: Mapping[int, Outcome | None]) -> str:
    """Stable 16-digit hash of labels; the order and unlabelled episodes do not matter."""
    lines = sorted(f"{uid} {outcome}" for uid, outcome in outcomes.items() if outcome is not None)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def episode_uids(root: Path) -> dict[int, int]:
    """Episode uid -> episode index. A dataset without uids (not recorded here) is named by its indices."""
    layout = read_layout(root)
    if columns.EPISODE_UID not in layout.info["features"]:
        return {index: index for index in range(len(layout.episodes))}
    uids: dict[int, int] = {}
    for file in sorted({layout.data_file(row) for row in layout.episodes}):
        table, _ = read_parquet(file, [columns.EPISODE_UID, "episode_index"])
        pairs = zip(table[columns.EPISODE_UID].to_pylist(), table["episode_index"].to_pylist(), strict=True)
        uids.update(pairs)
    return uids


def _cut_torn_line(handle: int) -> None:
    size = os.lseek(handle, 0, os.SEEK_END)
    position = size
    while position > 0 and os.pread(handle, 1, position - 1) != b"\n":
        position -= 1
    if position != size:
        os.ftruncate(handle, position)
