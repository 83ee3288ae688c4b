"""The labels of a dataset as they count now: the log joined with the episodes that are there."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from svm_robot.data import columns
from svm_robot.data.labels import Label, LabelLog, snapshot_hash, stacks
from svm_robot.data.layout import Layout, read_layout
from svm_robot.data.tables import Part, read_rows
from svm_robot.errors import ConfigError, DataError
from svm_robot.rollout.episode import Outcome

UNLABELLED = "unlabelled"
KINDS = (*map(str, Outcome), UNLABELLED)
"""What an episode can be, in the words of the command line."""


@dataclass(frozen=True)
class EpisodeLabel:
    """One episode and what is said of it now."""

    index: int
    uid: int
    length: int
    outcome: Outcome | None
    """What training sees."""
    label: Label | None
    """The line that says so; None when nobody labelled the episode (its own columns may tell the outcome then)."""
    recorded: Outcome | None
    """What its own columns tell where the log says nothing."""
    history: int
    """Lines of the log about it, undone ones and undos included."""

    @property
    def kind(self) -> str:
        """One of ``KINDS``."""
        return UNLABELLED if self.outcome is None else str(self.outcome)


@dataclass(frozen=True)
class LabelView:
    """All episodes of a dataset, in order."""

    root: Path
    episodes: Sequence[EpisodeLabel]
    strays: Sequence[Label]
    """Current labels of episodes that are not in this dataset (deleted elsewhere, or never counted): kept, unused."""

    @property
    def snapshot(self) -> str:
        """The hash that whatever is trained from this dataset now will name."""
        return snapshot_hash({episode.uid: episode.outcome for episode in self.episodes})

    @property
    def counts(self) -> Counter[str]:
        """Kind -> how many episodes."""
        return Counter(episode.kind for episode in self.episodes)

    def episode(self, index: int) -> EpisodeLabel:
        """By its number. Raises ``DataError`` when there is none."""
        if not 0 <= index < len(self.episodes):
            there = f"0 to {len(self.episodes) - 1}" if self.episodes else "no episodes"
            raise DataError(f"there is no episode {index}; the dataset has {there}")
        return self.episodes[index]

    def only(self, kinds: Collection[str]) -> list[EpisodeLabel]:
        """The episodes of these kinds."""
        return [episode for episode in self.episodes if episode.kind in kinds]


def read_view(root: Path) -> LabelView:
    """The current view. Raises ``DataError`` for what is no dataset, or a damaged log."""
    layout, log = read_layout(root), LabelLog(root)
    entries = log.entries()
    standing, lines = stacks(entries), Counter(label.episode_uid for label in entries)
    episodes = []
    for row, uid, recorded in identities(layout):
        labels = standing.pop(uid, [])
        label = labels[-1] if labels else None
        outcome = label.outcome if label else recorded
        index, length = int(row["episode_index"]), int(row["length"])
        episodes.append(EpisodeLabel(index, uid, length, outcome, label, recorded, lines[uid]))
    return LabelView(root, episodes, [labels[-1] for labels in standing.values() if labels])


def identities(layout: Layout) -> list[tuple[dict[str, int], int, Outcome | None]]:
    """(metadata row, uid, outcome by its own columns) of every counted episode.

    Episodes without uids (not recorded here) are named by their indices.
    """
    names = [name for name in (columns.EPISODE_UID, columns.SUCCESS) if name in layout.info["features"]]
    if not names or not layout.episodes:
        return [(row, int(row["episode_index"]), None) for row in layout.episodes]
    table = read_rows(layout, ["episode_index", *names])
    index_of = np.array(table["episode_index"].to_pylist())  # pyarrow's own way to numpy loads pandas, for a second
    order = np.argsort(index_of, kind="stable")
    index_of = index_of[order]
    part = {name: np.array(table[name].to_pylist()).reshape(len(order), -1)[order] for name in names}
    found = []
    for row in layout.episodes:
        index = int(row["episode_index"])
        first, end = np.searchsorted(index_of, [index, index + 1])
        own = {name: part[name][first:end] for name in names}
        has_uid = columns.EPISODE_UID in own and end > first
        uid = int(own[columns.EPISODE_UID][0, 0]) if has_uid else index
        found.append((row, uid, told_by_columns(own)))
    return found


def told_by_columns(part: Part) -> Outcome | None:
    """The outcome of an episode that the label log does not know.

    In our own recordings a missing success may have been failure, unsure or aborted, so nothing is guessed there.
    """
    if columns.SUCCESS not in part:
        return None
    if part[columns.SUCCESS].astype(bool).any():
        return Outcome.SUCCESS
    return None if columns.EPISODE_UID in part else Outcome.FAILURE


def parse_kinds(text: str) -> tuple[str, ...]:
    """``unsure,unlabelled`` as kinds. Raises ``ConfigError`` that names them all."""
    kinds = tuple(word.strip().lower() for word in text.split(",") if word.strip())
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise ConfigError(f"'{text}' is not one of {', '.join(KINDS)} (several: with commas between them)")
    return kinds


def parse_episodes(text: str) -> tuple[int, ...]:
    """``3,5-7`` as (3, 5, 6, 7), each once. Raises ``ConfigError``."""
    numbers: list[int] = []
    for word in text.split(","):
        first, dash, last = word.strip().partition("-") if not word.strip().startswith("-") else (word.strip(), "", "")
        try:
            begin = int(first)
            end = int(last) if dash else begin
        except ValueError as error:
            raise ConfigError(f"'{text}' names no episodes; write 3, or 3,5-7") from error
        if end < begin:
            raise ConfigError(f"'{word.strip()}' counts backwards; write {end}-{begin}")
        if end - begin > 10_000_000:
            raise ConfigError(f"'{word.strip()}' is more episodes than any dataset has")
        numbers += range(begin, end + 1)
    return tuple(dict.fromkeys(numbers))
