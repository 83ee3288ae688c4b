"""The listener that keeps episodes: rows and pictures while they run, one durable commit at the end, then the label."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from svm_robot.data.labels import LabelLog
from svm_robot.errors import DataError
from svm_robot.recording.disk import Reserve, failure
from svm_robot.recording.encoder import Encoding
from svm_robot.recording.recovery import is_fresh
from svm_robot.recording.resume import check_resume, note_rig
from svm_robot.recording.rows import EpisodeRows
from svm_robot.recording.timing import SlowLoop, Timing
from svm_robot.recording.worker import Waits
from svm_robot.recording.writer import EpisodeWriter
from svm_robot.rollout.env import EnvSpec, ImageArray
from svm_robot.rollout.episode import EpisodeEnd, EpisodeStart, Outcome, Step


@dataclass(frozen=True)
class EpisodeSummary:
    """What became of one episode."""

    episode: int | None
    """Index in the dataset; None when there was no step to save."""
    uid: int
    outcome: Outcome
    timing: Timing
    clip_rate: float
    """Share of the steps whose action the safety limits changed."""
    intervention_rate: float
    """Share of the steps that a human took in an episode that a policy or a script runs."""
    notes: tuple[str, ...]
    """What was wrong with its times, in words; also in the episode's metadata (``svm/notes``)."""
    reason: str
    """Why it ended, as it stands in the label log."""
    rejected: bool
    """True when the loop was too slow and such episodes are rejected: saved, labelled aborted, to be made again."""
    waits: Waits
    """How often the loop had to wait because pictures could not be encoded fast enough; none was dropped."""
    saving_s: float
    """How long the commit took, from the last step to the label [s]."""

    @property
    def frames(self) -> int:
        """Steps, and pictures of each camera."""
        return self.timing.steps


class Recorder:
    """Writes every episode it hears into the dataset at ``root``, aborted ones too: nothing is thrown away.

    ``latent_dim`` is the length of the policy's noise, None for a policy without. ``by`` stands in the label log.
    ``slow_loop`` says when an episode is too slow to be kept for training; ``accept_changes`` that a dataset may be
    continued with another calibration, camera device or robot of the same kind.
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
        slow_loop: SlowLoop | None = None,
        accept_changes: bool = False,
        reserve: Reserve | None = None,
    ) -> None:
        self.writer = EpisodeWriter(root, spec, latent_dim, encoding, reserve)
        self.spec, self.task, self.by, self.clock = spec, task, by, clock
        self.slow_loop, self.accept_changes = slow_loop or SlowLoop(), accept_changes
        self.labels = LabelLog(root)
        self.summary: EpisodeSummary | None = None
        """Of the last episode that ended."""
        self.accepted: list[str] = []
        """In what the rig differs from the one before, as ``open`` found it."""
        self._rows: EpisodeRows | None = None

    @property
    def needs_every_frame(self) -> bool:
        """Every step is a row, and every row has its pictures."""
        return True

    @property
    def episodes(self) -> int:
        """Episodes in the dataset; ``open`` first."""
        return self.writer.episodes

    def open(self) -> None:
        """Create or continue the dataset. Raises ``DataError`` when it is of another rig or someone else writes it."""
        root, writer = self.writer.root, self.writer
        if not is_fresh(root):
            self.accepted = check_resume(root, self.spec, writer.latent_dim, self.accept_changes)
        writer.open()
        try:
            note_rig(root, self.spec, writer.episodes, self.accepted, time.time)
            self._label_last()
        except BaseException:
            writer.close()
            raise

    def close(self) -> None:
        """Let others write. May be called twice."""
        self.writer.close()

    def check_room(self) -> None:
        """Raise ``DiskError`` when the disk has no room for an episode; to be asked before anything moves."""
        self.writer.guard.begin()

    def on_start(self, start: EpisodeStart) -> None:
        """An episode begins. Raises ``DiskError`` when there is no room for one."""
        self.summary = None
        self.writer.begin()
        self._rows = EpisodeRows(secrets.randbits(62), start, self.writer.latent_dim)

    def on_step(self, step: Step) -> None:
        """Keep one step.

        Raises ``DataError`` for a value that is not finite or a picture of another shape, ``DiskError`` before the disk
        is full; what was kept until then can still be saved.
        """
        rows = self._begun()
        before = rows.add(step, self._copies(step))
        if before is not None:
            self.writer.add(*before)
        self.writer.guard.watch()

    def on_end(self, end: EpisodeEnd) -> None:
        """Save the episode, then label it. Raises ``DataError`` when it could not be saved whole; nothing is left."""
        rows, began = self._rows, self.clock()
        self._rows = None
        if rows is None:  # it could not even start
            return
        timing = rows.times.result()
        slow = self.slow_loop.complaints(timing, self.spec.rate_hz)
        rejected = bool(slow) and self.slow_loop.reject and end.outcome is not Outcome.ABORTED
        if rejected:
            end = reject(end, slow)
        notes = ([f"slow loop: {', '.join(slow)}"] if slow else []) + timing.camera_notes()
        last, index = rows.last(end), None
        try:
            if last is not None:
                self.writer.add(*last)
                index = self.writer.save(rows.start.task or self.task, extras(rows, end, timing, notes))
                self._label(index, rows.uid, end)
        finally:
            self.writer.discard()
        shares = rows.shares()
        self.summary = EpisodeSummary(
            episode=index,
            uid=rows.uid,
            outcome=end.outcome,
            timing=timing,
            clip_rate=shares["svm/clip_rate"],
            intervention_rate=shares["svm/intervention_rate"],
            notes=tuple(notes),
            reason=end.reason,
            rejected=rejected,
            waits=self.writer.waits,
            saving_s=self.clock() - began,
        )

    def _label(self, index: int, uid: int, end: EpisodeEnd) -> None:
        try:
            self.labels.append(uid, end.outcome, self.by, end.reason)
        except OSError as error:
            raise failure(f"episode {index} is saved, but its label could not be written", error) from error

    def _label_last(self) -> None:
        """Write the label of the last episode when a kill came between the episode and its label."""
        row = self.writer.last
        if row is None or "svm/recorded_outcome" not in row or self.labels.history(row["svm/episode_uid"]):
            return
        if self.writer.episodes > 1 and not self.labels.entries():  # not a kill: the log stayed elsewhere, in a merge
            return
        outcome = Outcome(row["svm/recorded_outcome"])
        self.labels.append(row["svm/episode_uid"], outcome, self.by, "as recorded; the program was stopped before it")

    def _begun(self) -> EpisodeRows:
        if self._rows is None:
            raise DataError("the recorder was told of a step before the start of an episode")
        return self._rows

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


def reject(end: EpisodeEnd, slow: list[str]) -> EpisodeEnd:
    """The end of an episode that was too slow: it trains nothing, whatever was said of it."""
    reason = f"slow loop: {', '.join(slow)}; the verdict was {end.outcome}"
    return replace(end, outcome=Outcome.ABORTED, terminated=False, truncated=True, reason=reason)


def extras(rows: EpisodeRows, end: EpisodeEnd, timing: Timing, notes: list[str]) -> dict[str, int | float | str]:
    """What the episode's metadata says beside LeRobot's own entries; the label log has the last word."""
    seed = rows.start.seed
    told: dict[str, int | float | str] = {
        "svm/episode_uid": rows.uid,
        "svm/seed": -1 if seed is None else seed,
        "svm/source": rows.start.source,
        "svm/recorded_outcome": str(end.outcome),
        "svm/notes": "; ".join(notes),
    }
    return told | timing.to_metadata() | rows.shares()
