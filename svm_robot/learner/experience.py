"""Turns what happens on the robot into decisions for the learner. A listener; it moves nothing."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from svm_robot.errors import DataError
from svm_robot.learner.decisions import DecisionEpisode, as_rows
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.reward.samples import progress_at
from svm_robot.rollout import EpisodeEnd, EpisodeStart, Observation, Policy, Step
from svm_robot.rollout.env import FloatArray, ImageArray


class SteeredPolicy(Policy, Protocol):
    """A frozen policy whose noise a pilot chooses."""

    def vector_of(self, observation: Observation, step_index: int) -> FloatArray:
        """(n,) what the pilot sees of an observation at control step ``step_index``; cheap when asked again."""


class RewardInputs:
    """What f reads of decisions. With ``shared_features`` F the first F numbers of a vector are also f's features."""

    def __init__(self, reward: SvmRewardModel, horizon_steps: int, shared_features: int = 0) -> None:
        self.reward, self.horizon_steps, self.shared_features = reward, horizon_steps, shared_features

    @property
    def needs_frames(self) -> bool:
        """False when the pictures need not be looked at a second time."""
        return not self.shared_features

    def __call__(
        self,
        frames: Mapping[str, ImageArray],
        state: FloatArray,
        sent: Sequence[FloatArray],
        latents: FloatArray,
        vectors: FloatArray,
        step_index: Sequence[int],
    ) -> Tensor:
        """(T, m). ``sent``: for each decision the (<= c, J) targets that went to the motors until the next one."""
        config = self.reward.config
        clock = progress_at(np.asarray(step_index), config) if config.progress else None
        action: FloatArray | None = None
        if config.action == "step":
            action = np.stack([targets[0] for targets in sent])
        elif config.action == "chunk":
            action = np.stack([filled(targets, config.chunk) for targets in sent])
        elif config.action == "noise":
            action = latents
        features = vectors[:, : self.shared_features] if self.shared_features else None
        return self.reward.inputs(frames, state, action, clock, features=features)


def filled(targets: FloatArray, chunk: int) -> FloatArray:
    """(<= c, J) -> (c, J): a chunk that its episode cut short goes on holding its last target."""
    if len(targets) > chunk:
        raise DataError(f"a decision of {len(targets)} control steps, but this reward reads chunks of {chunk}")
    return np.concatenate([targets, np.repeat(targets[-1:], chunk - len(targets), axis=0)])


class DecisionCollector:
    """Listens to one episode at a time; ``episode`` is the last one, None when it never took a decision."""

    needs_every_frame = False

    def __init__(self, policy: SteeredPolicy, inputs: RewardInputs) -> None:
        self.policy, self.inputs = policy, inputs
        self.episode: DecisionEpisode | None = None
        self._forget()

    def on_start(self, start: EpisodeStart) -> None:
        """Begin afresh."""
        self.episode = None
        self._forget()

    def on_step(self, step: Step) -> None:
        """Note each decision, and every target that was sent until the next one."""
        if step.decision:
            if step.latent is None:
                raise DataError(
                    "the policy tells no noise (latent) for its chunk; only a steered policy can be learned"
                )
            self.vectors.append(self.policy.vector_of(step.observation, step.index))
            self.latents.append(step.latent)
            self.states.append(step.observation.state)
            self.step_index.append(step.index)
            self.sent.append([])
            if self.inputs.needs_frames:
                frames = step.observation.frames  # copied: a camera driver may reuse its buffer
                self.frames.append({role: frame.copy() for role, frame in frames.items()})
        self.sent[-1].append(step.sent)

    def on_end(self, end: EpisodeEnd) -> None:
        """Close the episode. One whose last observation could not be read has no bootstrap, and is dropped."""
        if not self.latents or end.final is None:
            return
        last = self.policy.vector_of(end.final, end.steps)
        vectors = np.stack([*self.vectors, last]).astype(np.float32)
        latents = np.stack(self.latents).astype(np.float32)
        frames = {role: np.stack([f[role] for f in self.frames]) for role in (self.frames[0] if self.frames else ())}
        sent = [np.stack(targets) for targets in self.sent]
        self.episode = DecisionEpisode(
            vectors=as_rows(vectors),
            latents=as_rows(latents),
            inputs=self.inputs(frames, np.stack(self.states), sent, latents, vectors[:-1], self.step_index),
            step_index=torch.tensor([*self.step_index, end.steps]),
            outcome=end.outcome,
            terminated=end.terminated,
        )
        self._forget()

    def _forget(self) -> None:
        self.vectors: list[FloatArray] = []
        self.latents: list[FloatArray] = []
        self.states: list[FloatArray] = []
        self.step_index: list[int] = []
        self.sent: list[list[FloatArray]] = []
        self.frames: list[Mapping[str, ImageArray]] = []
