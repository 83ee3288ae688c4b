"""From labelled episodes to the moments a discriminator learns from: which rows, which action, which label."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from svm_robot.data.episodes import EpisodeData
from svm_robot.errors import DataError
from svm_robot.reward.configuration_svm import SvmConfig
from svm_robot.reward.modeling_svm import SvmRewardModel
from svm_robot.rollout.env import FloatArray
from svm_robot.rollout.episode import Outcome

Rows = NDArray[np.int64]


class Episodes(Protocol):
    """A dataset, as far as the reward reads it (``svm_robot.data.load_dataset`` gives one)."""

    @property
    def episodes(self) -> Sequence[EpisodeData]: ...
    @property
    def joints(self) -> Sequence[str]: ...
    @property
    def cameras(self) -> Mapping[str, tuple[int, int]]: ...
    @property
    def rate_hz(self) -> float: ...
    @property
    def robot_type(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def label_hash(self) -> str: ...


@dataclass(frozen=True)
class Samples:
    """N moments of several episodes, ready for the head. All on the CPU."""

    inputs: Tensor
    """(N, m) ``SvmRewardModel.inputs``."""
    success: NDArray[np.float64]
    """(N,) 1 where the whole episode was a success, else 0."""
    episode: Rows
    """(N,) which episode."""
    order: Rows
    """(N,) how many decisions came before in the same episode."""
    progress: FloatArray
    """(N,) h / H."""

    def of(self, success: bool) -> Tensor:
        """(N', m) the inputs of one outcome."""
        return self.inputs[torch.from_numpy(self.success == float(success))]


def decision_rows(episode: EpisodeData, every: int) -> Rows:
    """Rows where a chunk was chosen; every ``every``-th row of an episode that decided at each step."""
    rows = np.flatnonzero(episode.decision)
    return rows[:: max(1, every)] if len(rows) == len(episode) else rows


def learning_rows(episode: EpisodeData, config: SvmConfig) -> Rows:
    """The decision rows f learns from. A chunk cut short by the episode's end is no example: its length would tell."""
    rows = decision_rows(episode, config.chunk)
    return rows[rows + config.chunk <= len(episode)] if config.action == "chunk" else rows


def action_rows(episode: EpisodeData, rows: Rows, config: SvmConfig) -> FloatArray | None:
    """What ``SvmRewardModel.inputs`` takes as action at these rows. A chunk past the end repeats the last target."""
    if config.action == "none":
        return None
    if config.action == "step":
        return episode.action[rows]
    if config.action == "chunk":
        cut: FloatArray = episode.action[np.minimum(rows[:, None] + np.arange(config.chunk), len(episode) - 1)]
        return cut
    if episode.latent is None:
        raise DataError(f"episode {episode.index} has no noise (svm.latent); choose --action=chunk, step or none")
    if episode.latent.shape[1] != config.latent_dim:
        raise DataError(f"episode {episode.index}: noise of {episode.latent.shape[1]} numbers, not {config.latent_dim}")
    return episode.latent[rows]


def episode_inputs(model: SvmRewardModel, episode: EpisodeData, rows: Rows) -> Tensor:
    """(len(rows), m) of one episode."""
    config = model.config
    frames = {role: pictures[rows] for role, pictures in episode.frames.items()}
    progress = progress_at(rows, config) if config.progress else None
    try:
        return model.inputs(frames, episode.state[rows], action_rows(episode, rows, config), progress)
    except DataError as error:
        raise DataError(f"episode {episode.index}: {error}") from error


def progress_at(rows: Rows, config: SvmConfig) -> FloatArray:
    """(N,) h / H."""
    return (rows / max(1, config.horizon_steps)).astype(np.float32)


def collect(model: SvmRewardModel, episodes: Sequence[EpisodeData]) -> Samples:
    """All learning rows of labelled episodes (success or failure), encoded once."""
    rows = [learning_rows(episode, model.config) for episode in episodes]
    counts = [len(of_one) for of_one in rows]
    return Samples(
        inputs=torch.cat([episode_inputs(model, e, r) for e, r in zip(episodes, rows, strict=True)]),
        success=np.repeat([float(e.outcome is Outcome.SUCCESS) for e in episodes], counts),
        episode=np.repeat(np.array([e.index for e in episodes], np.int64), counts),
        order=np.concatenate([np.arange(count, dtype=np.int64) for count in counts]),
        progress=np.concatenate([progress_at(of_one, model.config) for of_one in rows]),
    )


def contradictory_twins(episodes: Sequence[EpisodeData]) -> list[tuple[int, int]]:
    """Pairs (success, failure) of episode indices whose recordings are the same byte for byte."""
    seen: dict[bytes, dict[bool, int]] = {}
    for episode in episodes:
        digest = hashlib.sha256(episode.state.tobytes() + episode.action.tobytes())
        for role in sorted(episode.frames):
            digest.update(np.ascontiguousarray(episode.frames[role]))
        seen.setdefault(digest.digest(), {}).setdefault(episode.outcome is Outcome.SUCCESS, episode.index)
    return [(pair[True], pair[False]) for pair in seen.values() if len(pair) == 2]
