"""Recorded episodes as the learner's decisions: labelled data is in from the first step."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch

from svm_robot.data.episodes import EpisodeData
from svm_robot.errors import DataError
from svm_robot.learner.decisions import TRAINS, DecisionEpisode, as_rows
from svm_robot.learner.experience import RewardInputs
from svm_robot.rollout.env import FloatArray, ImageArray


class Vectors(Protocol):
    """How the policy sees many moments at once."""

    def __call__(self, frames: Mapping[str, ImageArray], state: FloatArray, progress: FloatArray, /) -> FloatArray:
        """role -> (T, H, W, 3), (T, J), (T,) step / horizon -> (T, n)."""


def offline_episode(data: EpisodeData, vectors_of: Vectors, inputs: RewardInputs, latent_dim: int) -> DecisionEpisode:
    """The decisions of a recorded episode.

    A dataset ends with the last action, so what came after it was not recorded: the last row (one control step
    earlier) stands in for the observation that a time-out bootstraps from, at the clock time of the true one.
    Raises ``DataError`` for an episode that was not recorded from a policy with noise of ``latent_dim`` numbers, or
    that would train although a human acted in it.
    """
    if data.outcome is None:
        raise DataError(f"episode {data.index} has no label; label it before it is learned from")
    if data.latent is None or data.latent.shape[1] != latent_dim:
        have = "none" if data.latent is None else str(data.latent.shape[1])
        raise DataError(
            f"episode {data.index}: noise of {latent_dim} numbers needed, {have} recorded; "
            "offline episodes must come from this policy (svm-robot record --control=policy)"
        )
    if data.outcome in TRAINS and data.intervention is not None and data.intervention.any():
        raise DataError(
            f"episode {data.index}: a human acted in {int(data.intervention.sum())} of its {len(data)} steps, and no "
            "noise of the policy stands behind those; label it aborted or unsure to leave it out"
        )
    rows = np.flatnonzero(data.decision)
    if not len(rows) or rows[0] != 0:
        raise DataError(f"episode {data.index} does not begin with a decision")
    seen = np.append(rows, len(data) - 1)
    clock = np.append(rows, len(data))
    frames = {role: pictures[seen] for role, pictures in data.frames.items()}
    vectors = vectors_of(frames, data.state[seen], (clock / inputs.horizon_steps).astype(np.float32))
    sent = [data.action[start:stop] for start, stop in pairwise(clock)]
    chosen = {role: pictures[:-1] for role, pictures in frames.items()} if inputs.needs_frames else {}
    return DecisionEpisode(
        vectors=as_rows(vectors),
        latents=as_rows(data.latent[rows]),
        inputs=inputs(chosen, data.state[rows], sent, data.latent[rows], vectors[:-1], [int(row) for row in rows]),
        step_index=torch.from_numpy(clock),
        outcome=data.outcome,
        terminated=data.terminated,
        offline=True,
    )
