"""The label log: what was said of each episode, by whom and when. Lines are only ever appended.

Labels hang on the episode's uid, so they survive renumbering. The current view is derived: the last line wins, and an
undo line takes back the one before it. ``label_view`` joins the log with the episodes that are there.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from svm_robot.data import columns
from svm_robot.data.files import sync
from svm_robot.data.layout import read_layout, read_parquet
from svm_robot.errors import DataError
from svm_robot.rollout.episode import Outcome
from svm_robot.version import __version__

VERSION = 2
"""1 had neither tags nor undo."""
READABLE = (1, 2)
FILE = "labels.jsonl"


@dataclass(frozen=True)
class Label:
    """One line of the log."""

    episode_uid: int
    outcome: Outcome
    """In an undo line: the outcome that was taken back."""
    by: str
    """Who said it: ``judge``, or a person's name."""
    time: float
    """Wall clock, seconds since 1970 (UTC): for people only, nothing is computed from it."""
    reason: str | None = None
    tool: str = __version__
    version: int = VERSION
    tags: tuple[str, ...] = ()
    """Free words for people and filters; nothing trains on them."""
    undo: bool = False
    """True: this line takes back the label of the episode that counted until here; the one before it counts again."""


@dataclass(frozen=True)
class Draft:
    """A label that has not been said yet."""

    uid: int
    outcome: Outcome
    reason: str | None = None
    tags: tuple[str, ...] | None = None
    """None: the tags of the label that counts until now stay."""
    by: str | None = None
    """Who says it, where that is not the one who writes."""


class LabelLog:
    """Reads and appends ``labels.jsonl`` of one dataset. Two writers at once are both kept."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.time) -> None:
        self.root, self.path, self.clock = root, root / FILE, clock

    def set(
        self, uid: int, outcome: Outcome, by: str, reason: str | None = None, tags: Collection[str] | None = None
    ) -> Label:
        """Label an episode of this dataset (again); without ``tags`` it keeps those it has.

        Raises ``DataError`` for a uid the dataset does not have.
        """
        return self.set_all([Draft(uid, outcome, reason, None if tags is None else tuple(tags))], by)[0]

    def set_all(self, drafts: Collection[Draft], by: str) -> list[Label]:
        """Several labels in one write: all of them, or after any error none. Raises as ``set`` does."""
        known = episode_uids(self.root)
        for draft in drafts:
            if draft.uid not in known:
                raise DataError(f"{self.root} has no episode with uid {draft.uid}; it has {len(known)} episodes")
        now = self.clock()
        with self._locked() as handle:
            tags = {uid: label.tags for uid, label in self.current().items()}
            labels = [
                Label(
                    draft.uid,
                    Outcome(draft.outcome),
                    draft.by or by,
                    now,
                    draft.reason,
                    tags=tags.get(draft.uid, ()) if draft.tags is None else draft.tags,
                )
                for draft in drafts
            ]
            _append(handle, labels)
        return labels

    def append(
        self, uid: int, outcome: Outcome, by: str, reason: str | None = None, tags: Collection[str] = ()
    ) -> Label:
        """Add a line; on disk when this returns. For the recorder, which knows that the episode exists."""
        label = Label(uid, Outcome(outcome), by, self.clock(), reason, tags=tuple(tags))
        with self._locked() as handle:
            _append(handle, [label])
        return label

    def undo(self, uid: int, by: str, reason: str | None = None, only: Label | None = None) -> Label:
        """Take back the label of an episode that counts now, and return it. Both lines stay in the history.

        Raises ``DataError`` when there is nothing left to take back, or when it is not the label ``only``.
        """
        with self._locked() as handle:  # what counts now is asked under the lock: two undos take back two labels
            standing = stacks(self.entries()).get(uid)
            if not standing:
                raise DataError(f"the episode with uid {uid} has no label that could be taken back")
            taken = standing[-1]
            if only is not None and taken != only:
                other = f"{taken.outcome} by {taken.by}, not {only.outcome} by {only.by}"
                raise DataError(f"what counts now is {other}; nothing taken back")
            _append(handle, [Label(uid, taken.outcome, by, self.clock(), reason, tags=taken.tags, undo=True)])
        return taken

    def entries(self) -> list[Label]:
        """The whole log, oldest first. A last line that a power cut left torn was never acknowledged and is none."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        lines = data.split(b"\n")
        whole = lines if _is_whole(lines[-1]) else lines[:-1]
        return [self._parse(number, line) for number, line in enumerate(whole, start=1)]

    def history(self, uid: int) -> list[Label]:
        """Everything said of one episode, oldest first."""
        return [label for label in self.entries() if label.episode_uid == uid]

    def current(self) -> dict[int, Label]:
        """Episode uid -> the label that counts. Unlabelled episodes are absent."""
        return {uid: labels[-1] for uid, labels in stacks(self.entries()).items() if labels}

    def snapshot_hash(self) -> str:
        """Hash of everything the log says now, also of episodes that are gone; see ``LabelView.snapshot``."""
        return snapshot_hash({uid: label.outcome for uid, label in self.current().items()})

    def _parse(self, number: int, line: bytes) -> Label:
        try:
            return parse_line(line)
        except DataError as error:
            raise DataError(f"{self.path}, line {number}: {error}") from error

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """A handle at the end of the log, with the lock held and the last line whole."""
        if not self.root.is_dir():
            raise DataError(f"no dataset at {self.root}: nothing to label")
        handle = self._open_and_lock()
        try:
            _mend_last_line(handle)
            yield handle
        finally:
            os.close(handle)

    def _open_and_lock(self) -> int:
        """The log that has this name once the lock is held: a rebuilt dataset may have taken the place of the old."""
        while True:
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                held = os.fstat(handle)
                if os.path.samestat(held, self.path.stat()):
                    if held.st_size == 0:
                        sync(self.root)  # the name of a log that was just made
                    return handle
            except FileNotFoundError:
                pass
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)


def stacks(entries: Iterable[Label]) -> dict[int, list[Label]]:
    """Episode uid -> its labels that were not taken back, oldest first; the last one counts."""
    standing: dict[int, list[Label]] = {}
    for label in entries:
        of_episode = standing.setdefault(label.episode_uid, [])
        if not label.undo:
            of_episode.append(label)
        elif of_episode:
            of_episode.pop()
    return standing


def snapshot_hash(outcomes: Mapping[int, Outcome | None]) -> str:
    """Stable 16-digit hash of labels: of the outcomes, which is what training sees, not of tags or reasons.

    The order and unlabelled episodes do not matter; it returns when the labels return.
    """
    lines = sorted(f"{uid} {outcome}" for uid, outcome in outcomes.items() if outcome is not None)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def to_line(label: Label) -> str:
    """The label as it stands in the log, without the line break."""
    return json.dumps(asdict(label), ensure_ascii=False)


def parse_line(line: str | bytes) -> Label:
    """The inverse of ``to_line``; also of lines that older versions wrote. Raises ``DataError``."""
    try:
        fields: dict[str, Any] = json.loads(line)
        if fields["version"] not in READABLE:
            raise DataError(f"version {fields['version']}, this tool reads {' and '.join(map(str, READABLE))}")
        tags = tuple(str(tag) for tag in fields.get("tags", ()))
        return Label(**{**fields, "outcome": Outcome(fields["outcome"]), "tags": tags})
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"not a label ({error})") from error


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


def _append(handle: int, labels: Iterable[Label]) -> None:
    """Write whole lines and force them onto the disk; after an error (disk full) the log is as it was."""
    data = "".join(to_line(label) + "\n" for label in labels).encode()
    size = os.lseek(handle, 0, os.SEEK_END)
    try:
        while data:
            data = data[os.write(handle, data) :]
        os.fsync(handle)
    except BaseException:
        os.ftruncate(handle, size)
        raise


def _mend_last_line(handle: int) -> None:
    """End a last line that lacks its line break (an editor), cut off one that is torn (a power cut)."""
    size = os.lseek(handle, 0, os.SEEK_END)
    position = size
    while position > 0 and os.pread(handle, 1, position - 1) != b"\n":
        position -= 1
    if position == size:
        return
    if _is_whole(os.pread(handle, size - position, position)):
        os.write(handle, b"\n")
    else:
        os.ftruncate(handle, position)


def _is_whole(last: bytes) -> bool:
    """True when the text behind the last line break is a complete label all the same."""
    try:
        parse_line(last)
    except DataError:
        return False
    return True
