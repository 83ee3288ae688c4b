"""The score while the robot moves: a listener that looks, times itself, and stores nothing."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from svm_robot.errors import CheckpointError
from svm_robot.reward.checkpoint import check_fits
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.reward.samples import progress_at
from svm_robot.rollout.env import EnvSpec, FloatArray
from svm_robot.rollout.episode import EpisodeEnd, EpisodeStart, Step


@dataclass(frozen=True)
class Score:
    """What the discriminator says of one moment."""

    index: int
    """Control step it belongs to."""
    time_s: float
    """When the joints of that moment were read, on the environment's clock [s]."""
    logit: float
    """Raw log w+/w- [nats]."""
    clipped: float
    """The logit within [-beta, beta] [nats]."""
    probability: float
    """Calibrated P(success)."""


@dataclass(frozen=True)
class Flag:
    """A moment that has no score, and why."""

    index: int
    reason: str
    """``late`` (over the time budget), ``not finite``, or ``no noise`` (a human acted, and the reward reads noise)."""
    ms: float


class LiveScore:
    """Scores every decision (rewards that read chunks or noise) or every step (the others).

    Only good scores are passed on: ``newest`` keeps the last one that was in time and finite, ``flags`` lists the rest.
    """

    def __init__(
        self,
        model: SvmRewardModel,
        budget_s: float = 0.05,
        clock: Callable[[], float] = time.perf_counter,
        features_of: Callable[[Step], FloatArray] | None = None,
    ) -> None:
        """``budget_s``: time for one score.

        ``features_of``: (F,) features of a step that a policy with the SAME encoder has computed already.
        """
        self.model, self.budget_s, self.clock = model, budget_s, clock
        self.features_of = features_of
        self.needs_every_frame = not model.config.per_decision
        self.newest: Score | None = None
        self.scores: list[Score] = []
        self.flags: list[Flag] = []
        self.times_ms: list[float] = []

    def check(self, spec: EnvSpec, source: str) -> None:
        """``CheckpointError`` for a robot or an actor that this reward cannot score; ask before anything moves."""
        check_fits(self.model, spec)
        if self.model.config.action == "noise" and source != "policy":
            raise CheckpointError(
                f"this reward reads the noise behind each chunk, and a {source} has none; "
                "fit one with --action=chunk, step or none"
            )

    def on_start(self, start: EpisodeStart) -> None:
        """A new episode, of a robot and an actor that it can score."""
        self.check(start.spec, start.source)
        self.newest, self.scores, self.flags = None, [], []
        self._warm_up()

    def on_step(self, step: Step) -> None:
        """Score the moment, if it is one that this reward scores."""
        if self.model.config.per_decision and not step.decision:
            return
        if self.model.config.action == "noise" and step.latent is None:
            self.flags.append(Flag(step.index, "no noise", 0.0))
            return
        begin = self.clock()
        score = self._score(step)
        seconds = self.clock() - begin
        self.times_ms.append(1e3 * seconds)
        if score is None or not np.isfinite([score.logit, score.probability]).all():
            self.flags.append(Flag(step.index, "not finite", 1e3 * seconds))
        elif seconds > self.budget_s:
            self.flags.append(Flag(step.index, "late", 1e3 * seconds))
        else:
            self.newest = score
            self.scores.append(score)

    def on_end(self, end: EpisodeEnd) -> None:
        """Nothing to close. The scores of the episode stay readable until the next one begins."""

    @property
    def mean_probability(self) -> float | None:
        """Mean calibrated P(success) of the episode's good scores; None without any."""
        return float(np.mean([score.probability for score in self.scores])) if self.scores else None

    def latency_ms(self) -> tuple[float, float]:
        """(p50, p95) of the time for one score over all episodes so far [ms]; (0, 0) before the first."""
        if not self.times_ms:
            return 0.0, 0.0
        p50, p95 = np.percentile(self.times_ms, [50, 95])
        return float(p50), float(p95)

    def _score(self, step: Step) -> Score | None:
        """None when the moment holds a number that is not finite."""
        config, seen = self.model.config, step.observation
        state = seen.state[None]
        progress = progress_at(np.array([step.index]), config) if config.progress else None
        frames = {role: seen.frames[role][None] for role in config.cameras if role in seen.frames}
        action = self._action(step)
        if not np.isfinite(state).all() or (action is not None and not np.isfinite(action).all()):
            return None
        features = None if self.features_of is None else self.features_of(step)[None]
        inputs = self.model.inputs(frames, state, action, progress, features=features)
        with torch.inference_mode():
            logit = float(self.model.logits(inputs.to(self.model.state_mean.device))[0])
        clipped = max(-config.beta, min(config.beta, logit))
        return Score(step.index, seen.state_time_s, logit, clipped, sigmoid(logit / config.temperature))

    def _action(self, step: Step) -> FloatArray | None:
        given = {"none": None, "step": step.sent, "chunk": step.chunk, "noise": step.latent}[self.model.config.action]
        return None if given is None else given[None]

    def _warm_up(self) -> None:
        """The first forward pass allocates; it must not count as late."""
        config = self.model.config
        frames = {role: np.zeros((1, *size, 3), np.uint8) for role, size in config.cameras.items()}
        shape = (1, config.action_dim)
        state, progress = np.zeros((1, len(config.joints)), np.float32), np.zeros(1, np.float32)
        self.model.probability(self.model.inputs(frames, state, np.zeros(shape, np.float32), progress))


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)) without overflow; NaN stays NaN."""
    return 0.5 * (1.0 + math.tanh(0.5 * x))
