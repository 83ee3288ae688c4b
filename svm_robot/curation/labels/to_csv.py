"""The episodes and the labels of a dataset as tables that a spreadsheet opens."""

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from svm_robot.curation.labels.table import plain
from svm_robot.curation.rebuild.source import Source
from svm_robot.data.files import new_folder
from svm_robot.data.label_view import EpisodeLabel, LabelView
from svm_robot.data.labels import Label

EPISODES = "episodes.csv"
"""One line for each episode, with the label that counts; ``label --import`` reads it."""
LABELS = "labels.csv"
"""The whole history, one line for each thing that was said."""


def write_csv(source: Source, view: LabelView, folder: Path) -> None:
    """Both tables in a new folder; it appears whole or not at all."""
    rate_hz = float(source.info["fps"])
    with new_folder(folder) as fresh:
        rows = [
            episode_row(label, episode.task, rate_hz, f"{episode.source} {episode.source_index}")
            for label, episode in zip(view.episodes, source.episodes, strict=True)
        ]
        (fresh / EPISODES).write_text(table(rows), encoding="utf-8")
        index_of = {episode.uid: number for number, episode in enumerate(source.episodes)}
        (fresh / LABELS).write_text(table([label_row(label, index_of) for label in source.labels]), encoding="utf-8")


def episode_row(episode: EpisodeLabel, task: str, rate_hz: float, source: str) -> dict[str, Any]:
    """One line of the first table."""
    said = plain(episode)
    return said | {
        "outcome": said["outcome"] or "",
        "tags": ", ".join(said["tags"]),
        "seconds": round(episode.length / rate_hz, 3),
        "task": task,
        "source": source,
    }


def label_row(label: Label, index_of: dict[int, int]) -> dict[str, Any]:
    """One line of the history; episodes that are not here any more have no number."""
    return {
        "episode": index_of.get(label.episode_uid, ""),
        "uid": label.episode_uid,
        "outcome": str(label.outcome),
        "undo": label.undo,
        "reason": label.reason,
        "tags": ", ".join(label.tags),
        "by": label.by,
        "when": datetime.fromtimestamp(label.time, UTC).isoformat(timespec="seconds"),
        "tool": label.tool,
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as CSV with a header; only a header's absence says that there are none."""
    text = io.StringIO()
    names: Iterable[str] = rows[0] if rows else ()
    writer = csv.DictWriter(text, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
