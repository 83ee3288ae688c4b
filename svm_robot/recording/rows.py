"""One episode while it is being recorded: its rows, who acted, and how it kept time."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.data import columns
from svm_robot.errors import DataError
from svm_robot.recording.timing import Stopwatch
from svm_robot.rollout.env import ImageArray
from svm_robot.rollout.episode import EpisodeEnd, EpisodeStart, Outcome, Step

PROBES = 4
"""Lines of a picture that are compared first: noise shows there already."""

Frames = Mapping[str, ImageArray]
Row = dict[str, Any]


class EpisodeRows:
    """The newest row is held back: only the end tells how the episode ended."""

    def __init__(self, uid: int, start: EpisodeStart, latent_dim: int | None) -> None:
        self.uid, self.start, self.latent_dim = uid, start, latent_dim
        self.held: tuple[Row, Frames] | None = None
        self.times = Stopwatch(tuple(start.spec.cameras))
        self.clipped = 0
        """Steps whose action the safety limits changed."""
        self.interventions = 0
        """Steps that a human took in an episode that a policy or a script runs."""

    def add(self, step: Step, frames: Frames) -> tuple[Row, Frames] | None:
        """Hold one more step back and return the one before it. ``frames`` must not change any more.

        Raises ``DataError`` for a value that is not finite or not of its length, and for an unknown actor.
        """
        seen, before = step.observation, self.held
        fresh = self.times.fresh(seen)
        row = self.row(step) | {columns.FRESH + role: new for role, new in fresh.items()}
        identical = {
            role: new and before is not None and same_pixels(before[1][role], frames[role])
            for role, new in fresh.items()
        }
        self.times.add(seen, identical)
        self.clipped += step.clipped
        self.interventions += row[columns.INTERVENTION]
        self.held = row, frames
        return before

    def last(self, end: EpisodeEnd) -> tuple[Row, Frames] | None:
        """The row still held back, with how the episode ended; None when there was no step."""
        held, self.held = self.held, None
        return None if held is None else (held[0] | outcome_columns(end), held[1])

    def row(self, step: Step) -> Row:
        """All columns of a step but freshness and bookkeeping."""
        seen, joints = step.observation, len(self.start.spec.joints)
        if step.source not in columns.SOURCES:
            raise DataError(f"step {step.index}: '{step.source}' acted, known are {', '.join(columns.SOURCES)}")
        intervention = step.source == "human" and self.start.source != "human"
        row: Row = {
            columns.STATE: vector(seen.state, joints, "state", step.index),
            columns.ACTION: vector(step.sent, joints, "action", step.index),
            columns.REQUESTED: vector(step.requested, joints, "requested action", step.index),
            columns.CLIPPED: step.clipped,
            columns.DECISION: step.decision,
            columns.SOURCE: columns.SOURCES.index(step.source),
            columns.INTERVENTION: intervention,
            columns.EPISODE_UID: self.uid,
            columns.STATE_TIME: seen.state_time_s,
            columns.REWARD: 0.0,
            columns.DONE: False,
            columns.SUCCESS: False,
            columns.TRUNCATED: False,
        }
        row |= {columns.FRAME_TIME + role: seen.frame_times_s[role] for role in self.start.spec.cameras}
        if self.latent_dim is None and step.latent is not None:
            raise DataError("the policy has a latent, the dataset no column for it; give the recorder latent_dim")
        if self.latent_dim is not None:
            latent = np.zeros(self.latent_dim, np.float32) if intervention and step.latent is None else step.latent
            row[columns.LATENT] = vector(latent, self.latent_dim, "latent", step.index)
        return row

    def shares(self) -> dict[str, float]:
        """What the episode's metadata says of who acted, as shares of its steps."""
        steps = max(1, len(self.times.read))
        return {"svm/clip_rate": self.clipped / steps, "svm/intervention_rate": self.interventions / steps}


def same_pixels(before: ImageArray, after: ImageArray) -> bool:
    """Bit for bit; cheap where they differ."""
    step = max(1, len(after) // PROBES)
    return np.array_equal(before[::step], after[::step]) and np.array_equal(before, after)


def vector(values: NDArray[Any] | None, length: int, name: str, step: int) -> NDArray[np.float32]:
    """(length,) float32. Raises ``DataError`` naming the step and the dimension that is not finite."""
    if values is None or np.shape(values) != (length,):
        shape = None if values is None else np.shape(values)
        raise DataError(f"step {step}: {name} has shape {shape}, expected {(length,)}")
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise DataError(f"step {step}: {name}[{wrong[0]}] is {values[wrong[0]]}; a recording holds finite numbers only")
    return np.array(values, np.float32)


def outcome_columns(end: EpisodeEnd) -> dict[str, Any]:
    """What the last row of an episode says in LeRobot's own columns."""
    success = end.outcome is Outcome.SUCCESS
    return {
        columns.REWARD: float(success),
        columns.DONE: True,
        columns.SUCCESS: success,
        columns.TRUNCATED: end.truncated,
    }
