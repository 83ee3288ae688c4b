"""``svm-robot label DATASET review``: the clip of each episode in the terminal, and a key for what it was."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from svm_robot.errors import DataError
from svm_robot.scripts.label import LabelConfig, chosen, login

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svm_robot.curation.review.film import Film
    from svm_robot.data.label_view import EpisodeLabel

INSTEAD = (
    "Run this in a terminal (over SSH: ssh -t), or label without looking: "
    "svm-robot label DATASET --episode=3 --set=failure, or svm-robot label DATASET import FILE.csv"
)


def review(root: Path, config: LabelConfig) -> int:
    """Show the episodes one by one; every key is on disk before the next picture."""
    from svm_robot.curation.review.review import Review, todo_first
    from svm_robot.curation.review.watch import watch
    from svm_robot.data.label_view import read_view
    from svm_robot.data.labels import LabelLog
    from svm_robot.data.layout import read_layout
    from svm_robot.data.pictures import camera_keys, camera_size
    from svm_robot.drivers.terminal.screen import Screen

    view, layout = read_view(root), read_layout(root)
    queue = chosen(view, config)
    if not queue:
        raise DataError(f"there is nothing to review: none of the {len(view.episodes)} episodes of {root} is asked for")
    features = layout.info["features"]
    cameras = {role: camera_size(features[key]) for role, key in camera_keys(features).items()}

    def films(episode: "EpisodeLabel") -> "Mapping[str, Film]":
        from svm_robot.curation.review.film import open_films

        return open_films(layout, layout.episodes[episode.index])

    def task(episode: "EpisodeLabel") -> str:
        return ", ".join(layout.episodes[episode.index].get("tasks") or ())

    with Screen(INSTEAD) as screen:
        going = Review(
            LabelLog(root),
            todo_first(queue) if config.todo_first else queue,
            float(layout.info["fps"]),
            config.by or login(),
            time.monotonic(),
        )
        watch(going, screen, films, cameras, task)
    print(going.progress)
    if (now := read_view(root).snapshot) != view.snapshot:
        print(f"label snapshot {view.snapshot} -> {now}; what was trained before: svm-robot label {root} stale MODEL")
    return 0
