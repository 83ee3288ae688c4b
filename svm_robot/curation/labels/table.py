"""The labels of a dataset as lines for people and as values for programs."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from svm_robot.data.label_view import KINDS, EpisodeLabel, LabelView
from svm_robot.data.labels import Label


def table(view: LabelView, shown: Iterable[EpisodeLabel]) -> list[str]:
    """One line for each episode shown, then the counts of all, and what the log says beside."""
    lines = [row(episode) for episode in shown]
    counts = ", ".join(f"{view.counts[kind]} {kind}" for kind in KINDS if view.counts[kind])
    lines.append(f"{len(view.episodes)} episodes: {counts or 'none'}")
    if view.strays:
        uids = ", ".join(str(label.episode_uid) for label in view.strays[:3])
        more = ", ..." if len(view.strays) > 3 else ""
        lines.append(f"{len(view.strays)} labels of episodes that are not in this dataset are kept (uid {uids}{more})")
    return [*lines, f"label snapshot {view.snapshot}"]


def row(episode: EpisodeLabel) -> str:
    """One episode with the label that counts."""
    if episode.label is not None:
        return line(episode.index, episode.label)
    told = "  as recorded" if episode.outcome is not None else ""
    return f"{episode.index:4}  {episode.kind:10}  uid {episode.uid}{told}"


def line(index: int, label: Label) -> str:
    """One line of the log in words."""
    when = datetime.fromtimestamp(label.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
    tags = f"  [{', '.join(label.tags)}]" if label.tags else ""
    reason = f"  ({label.reason})" if label.reason else ""
    taken = "  taken back" if label.undo else ""
    return f"{index:4}  {label.outcome:10}  uid {label.episode_uid}  by {label.by}  {when} UTC{taken}{tags}{reason}"


def as_json(view: LabelView, shown: Iterable[EpisodeLabel]) -> dict[str, Any]:
    """The same as plain values; what it gives as ``episodes`` can be imported again."""
    return {
        "dataset": view.root.name,
        "snapshot": view.snapshot,
        "counts": dict(view.counts),
        "episodes": [plain(episode) for episode in shown],
        "strays": [label.episode_uid for label in view.strays],
    }


def plain(episode: EpisodeLabel) -> dict[str, Any]:
    """One episode."""
    label = episode.label
    return {
        "episode": episode.index,
        "uid": episode.uid,
        "length": episode.length,
        "outcome": episode.outcome,
        "recorded": label is None,
        "reason": label.reason if label else None,
        "tags": list(label.tags) if label else [],
        "by": label.by if label else None,
        "when": datetime.fromtimestamp(label.time, UTC).isoformat(timespec="seconds") if label else None,
        "history": episode.history,
    }
