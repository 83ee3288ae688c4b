"""The listener that keeps episodes: rows and pictures while they run, one durable commit at the end, then the label."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.data import columns
from svm_robot.data.encoder import Encoding
from svm_robot.data.labels import LabelLog
from svm_robot.data.writer import EpisodeWriter
from svm_robot.errors import DataError
from svm_robot.rollout.env import EnvSpec, ImageArray, Observation
from svm_robot.rollout.episode import EpisodeEnd, EpisodeStart, Outcome, Step


@dataclass(frozen=True)
class EpisodeSummary:
    """What became of one episode. Frame age: joints read minus picture taken."""

    episode: int | None
    """Index in the dataset; None when there was no step to save."""
    uid: int
    outcome: Outcome
    frames: int
    rate_hz: float
    """Achieved control rate; 0 for fewer than two steps."""
    worst_gap_s: float
    max_frame_age_s: float
    mean_frame_age_s: float
    saving_s: float
    """How long the commit took, from the last step to the label [s]."""


class Recorder:
    """Writes every episode it hears into the dataset at ``root``, aborted ones too: nothing is thrown away.

    ``latent_dim`` is the length of the policy's noise, None for a policy without. ``by`` stands in the label log.
    """

    def __init__(
        self,
        root: Path,
        spec: EnvSpec,
        task: str,
        latent_dim: int | None = None,
        encoding: Encoding | None = None,
        by: str = "operator",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.writer = EpisodeWriter(root, spec, latent_dim, encoding)
        self.spec, self.task, self.by, self.clock = spec, task, by, clock
        self.labels = LabelLog(root)
        self.summary: EpisodeSummary | None = None
        """Of the last episode that ended."""
        self._episode: _Episode | None = None

    @property
    def needs_every_frame(self) -> bool:
        """Every step is a row, and every row has its pictures."""
        return True

    @property
    def episodes(self) -> int:
        """Episodes in the dataset; ``open`` first."""
        return self.writer.episodes

    def open(self) -> None:
        """Create or continue the dataset. Raises ``DataError`` when its shape is another or someone else writes it."""
        self.writer.open()

    def close(self) -> None:
        """Let others write. May be called twice."""
        self.writer.close()

    def on_start(self, start: EpisodeStart) -> None:
        """An episode begins."""
        self.writer.begin()
        self._episode = _Episode(secrets.randbits(62), start, self.writer.latent_dim)

    def on_step(self, step: Step) -> None:
        """Keep one step. Raises ``DataError`` for a value that is not finite or a picture of another shape."""
        episode = self._begun()
        row = episode.row(step)
        frames = self._copies(step)
        episode.watch(step.observation)
        held = episode.hold(row, frames)
        if held is not None:
            self.writer.add(*held)

    def on_end(self, end: EpisodeEnd) -> None:
        """Save the episode, then label it."""
        episode, began = self._begun(), self.clock()
        self._episode = None
        index = None
        held = episode.hold(None, None)
        if held is None:
            self.writer.discard()
        else:
            row, frames = held
            self.writer.add(row | outcome_columns(end), frames)
            index = self.writer.save(episode.start.task or self.task, extras(episode, end))
            self.labels.append(episode.uid, end.outcome, self.by, end.reason)
        self.summary = episode.summary(index, end.outcome, self.clock() - began)

    def _begun(self) -> "_Episode":
        if self._episode is None:
            raise DataError("the recorder was told of a step before the start of an episode")
        return self._episode

    def _copies(self, step: Step) -> dict[str, ImageArray]:
        """The frames, checked and copied: a camera driver may reuse its buffer."""
        copies = {}
        for role, size in self.spec.cameras.items():
            frame = step.observation.frames.get(role)
            if frame is None or frame.shape != (*size, 3) or frame.dtype != np.uint8:
                got = "no picture" if frame is None else f"{frame.dtype} {frame.shape}"
                raise DataError(f"step {step.index}: camera {role} gave {got}, expected uint8 {(*size, 3)}")
            copies[role] = frame.copy()
        return copies


class _Episode:
    """One episode while it is being recorded. The newest row is held back: only the end tells how it ended."""

    def __init__(self, uid: int, start: EpisodeStart, latent_dim: int | None) -> None:
        self.uid, self.start, self.latent_dim = uid, start, latent_dim
        self.held: tuple[dict[str, Any], dict[str, ImageArray]] | None = None
        self.times: list[float] = []
        self.ages: list[float] = []

    def row(self, step: Step) -> dict[str, Any]:
        seen, joints = step.observation, len(self.start.spec.joints)
        if step.source not in columns.SOURCES:
            raise DataError(f"step {step.index}: '{step.source}' acted, known are {', '.join(columns.SOURCES)}")
        row = {
            columns.STATE: vector(seen.state, joints, "state", step.index),
            columns.ACTION: vector(step.sent, joints, "action", step.index),
            columns.REQUESTED: vector(step.requested, joints, "requested action", step.index),
            columns.CLIPPED: step.clipped,
            columns.DECISION: step.decision,
            columns.SOURCE: columns.SOURCES.index(step.source),
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
            row[columns.LATENT] = vector(step.latent, self.latent_dim, "latent", step.index)
        return row

    def watch(self, seen: Observation) -> None:
        self.times.append(seen.state_time_s)
        self.ages += [seen.state_time_s - taken for taken in seen.frame_times_s.values()]

    def hold(
        self, row: dict[str, Any] | None, frames: dict[str, ImageArray] | None
    ) -> tuple[dict[str, Any], dict[str, ImageArray]] | None:
        """Hold the newest row back and return the one before it."""
        before = self.held
        self.held = None if row is None or frames is None else (row, frames)
        return before

    def summary(self, index: int | None, outcome: Outcome, saving_s: float) -> EpisodeSummary:
        gaps = np.diff(self.times)
        return EpisodeSummary(
            episode=index,
            uid=self.uid,
            outcome=outcome,
            frames=len(self.times),
            rate_hz=float(1 / gaps.mean()) if len(gaps) and gaps.mean() > 0 else 0.0,
            worst_gap_s=float(gaps.max()) if len(gaps) else 0.0,
            max_frame_age_s=max(self.ages, default=0.0),
            mean_frame_age_s=float(np.mean(self.ages)) if self.ages else 0.0,
            saving_s=saving_s,
        )


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


def extras(episode: _Episode, end: EpisodeEnd) -> dict[str, int | str]:
    """What the episode's metadata says beside LeRobot's own entries; the label log has the last word."""
    seed = episode.start.seed
    return {
        "svm/episode_uid": episode.uid,
        "svm/seed": -1 if seed is None else seed,
        "svm/source": episode.start.source,
        "svm/recorded_outcome": str(end.outcome),
    }
