"""Pictures from a dataset, for runs that kept none: the first success and the first failure somebody labelled."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from svm_robot.data.dataset import load_dataset
from svm_robot.data.layout import read_layout
from svm_robot.data.pictures import camera_keys, read_pictures
from svm_robot.report.examples import KEPT, LENGTH, PHASES, Example
from svm_robot.report.filmstrip import moment, stack


def recorded_examples(root: Path) -> list[Example]:
    """At most one success and one failure, without scores; only their pictures are kept in memory.

    Raises ``DataError`` for what is no dataset; gives nothing when it holds no video or no label.
    """
    layout, dataset = read_layout(root), load_dataset(root, frames=False)
    firsts = [next((p for p, e in enumerate(dataset.episodes) if e.outcome is kind), None) for kind in KEPT]
    places = [place for place in firsts if place is not None]
    only = replace(layout, episodes=tuple(layout.episodes[place] for place in places))
    videos = {role: key for role, key in camera_keys(layout.info["features"]).items() if key in layout.video_keys()}
    pictures = {role: read_pictures(only, key) for role, key in videos.items()}
    found = []
    for position, place in enumerate(places):
        episode, decisions = dataset.episodes[place], np.flatnonzero(dataset.episodes[place].decision)
        steps = np.linspace(0, len(episode) - 1, min(LENGTH, len(episode))).round().astype(np.int64)
        moments = [moment(int(s), {role: films[position][s] for role, films in pictures.items()}) for s in steps]
        unknown = np.full(len(decisions), np.nan, np.float32)
        found.append(
            Example(
                phase=PHASES[0],
                episode=episode.index,
                env_steps=0,
                outcome=KEPT[firsts.index(place)],
                task=episode.task,
                steps=len(episode),
                rate_hz=dataset.rate_hz,
                decision_step=decisions,
                logit=unknown,
                probability=unknown,
                frame_step=steps,
                frames=stack(moments),
            )
        )
    return found
