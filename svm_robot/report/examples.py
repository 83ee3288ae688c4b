"""A few whole episodes of a run, kept as pictures and scores, so that a reader sees what the numbers mean.

``ExampleKeeper`` writes ``RUN/examples/*.npz`` while a run goes on; ``read_examples`` reads them back for the page.
"""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.data.files import publish
from svm_robot.errors import DataError
from svm_robot.report.filmstrip import FilmStrip, moment, stack
from svm_robot.rollout.env import FloatArray, ImageArray
from svm_robot.rollout.episode import EpisodeEnd, EpisodeStart, Outcome, Step

VERSION = 1
FOLDER = "examples"
PHASES = ("early", "middle", "late")
"""Thirds of the run, by control steps."""
LENGTH = 12
"""Pictures per camera, the last one taken after the last action."""
KEPT = (Outcome.SUCCESS, Outcome.FAILURE)
ABOUT = ("phase", "episode", "env_steps", "outcome", "task", "steps", "rate_hz")
FRAMES = "frames."
"""Prefix of an array's name; the camera's role follows."""

Scorer = Callable[[Step], tuple[float, float] | None]
"""Asked at each decision: (unclipped logit [nats], P(success) in 0..1), or None while there is no score."""


@dataclass(frozen=True)
class Example:
    """One episode. K decisions, F pictures per camera."""

    phase: str
    episode: int
    env_steps: int
    """Control steps the run had used when this episode began."""
    outcome: Outcome
    task: str
    steps: int
    rate_hz: float
    decision_step: NDArray[np.int64]
    """(K,) control step at which each decision was taken."""
    logit: FloatArray
    """(K,) unclipped logit of the discriminator as it was then [nats]; NaN where there was no score."""
    probability: FloatArray
    """(K,) P(success) in 0..1; NaN where there was no score."""
    frame_step: NDArray[np.int64]
    """(F,) control step of each picture; the last one may be ``steps``, what was seen after the last action."""
    frames: Mapping[str, ImageArray]
    """Camera role -> (F, H, W, 3) RGB."""

    @property
    def scored(self) -> bool:
        return bool(np.isfinite(self.logit).any())


class ExampleKeeper:
    """A listener that keeps one success and one failure from each third of the run.

    Which one is drawn evenly and by seed alone (every episode gets a random priority, the highest stays), so a
    resumed run keeps what an uninterrupted one would have kept. Put it after the live score in the list of listeners.
    """

    needs_every_frame = False

    def __init__(
        self, run: Path, score: Scorer, *, total_steps: int, seed: int = 0, first_episode: int = 0, first_step: int = 0
    ) -> None:
        self.folder, self.score, self.total_steps, self.seed = run / FOLDER, score, total_steps, seed
        self.episode, self.env_steps = first_episode, first_step

    def on_start(self, start: EpisodeStart) -> None:
        self.start = start
        self.strip = FilmStrip(LENGTH - 1)
        self.scores: list[tuple[int, float, float]] = []

    def on_step(self, step: Step) -> None:
        if not step.decision:
            return
        logit, probability = self.score(step) or (np.nan, np.nan)
        self.scores.append((step.index, logit, probability))
        if step.observation.frames:
            self.strip.offer(step.index, step.observation.frames)

    def on_end(self, end: EpisodeEnd) -> None:
        example = self._example(end)
        self.episode += 1
        self.env_steps += end.steps
        if end.outcome not in KEPT or not self.scores:
            return
        path = self.folder / f"{example.phase}-{example.outcome}.npz"
        held = read_example(path).episode if path.is_file() else None
        if held is None or self._priority(example.episode) > self._priority(held):
            write_example(path, example)

    def _example(self, end: EpisodeEnd) -> Example:
        moments = self.strip.chosen()
        if end.final is not None and end.final.frames:
            moments.append(moment(end.steps, end.final.frames))
        third = min(2, 3 * self.env_steps // max(1, self.total_steps))
        return Example(
            phase=PHASES[third],
            episode=self.episode,
            env_steps=self.env_steps,
            outcome=end.outcome,
            task=self.start.task,
            steps=end.steps,
            rate_hz=self.start.spec.rate_hz,
            decision_step=np.array([step for step, _, _ in self.scores], np.int64),
            logit=np.array([logit for _, logit, _ in self.scores], np.float32),
            probability=np.array([probability for _, _, probability in self.scores], np.float32),
            frame_step=np.array([step for step, _ in moments], np.int64),
            frames=stack(moments),
        )

    def _priority(self, episode: int) -> float:
        return float(np.random.default_rng((self.seed, episode)).random())


def write_example(path: Path, example: Example) -> None:
    """Write whole, then publish: a reader never sees half a file."""
    arrays: dict[str, Any] = {
        "about": np.array(json.dumps({"version": VERSION} | {name: getattr(example, name) for name in ABOUT})),
        "decision_step": example.decision_step,
        "logit": example.logit,
        "probability": example.probability,
        "frame_step": example.frame_step,
        **{FRAMES + role: pictures for role, pictures in example.frames.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f".{path.name}.new")
    with staged.open("wb") as file:  # given a name, numpy would append its own suffix
        np.savez_compressed(file, **arrays)
    publish(staged, path)


def read_example(path: Path) -> Example:
    """Raises ``DataError`` for a damaged file and for one of another version."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            arrays = dict(archive)
        about = json.loads(str(arrays.pop("about")))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: not an example episode, or damaged ({error}); delete it to go on") from error
    if about.pop("version", None) != VERSION:
        raise DataError(f"{path}: an example of another version, this tool reads {VERSION}; delete it to go on")
    about["outcome"] = Outcome(about["outcome"])
    frames = {name.removeprefix(FRAMES): arrays.pop(name) for name in list(arrays) if name.startswith(FRAMES)}
    return Example(**about, **arrays, frames=frames)


def read_examples(run: Path) -> list[Example]:
    """The examples of a run, early ones first, successes before failures; empty when the run kept none."""
    paths = [run / FOLDER / f"{phase}-{outcome}.npz" for phase in PHASES for outcome in KEPT]
    return [read_example(path) for path in paths if path.is_file()]
