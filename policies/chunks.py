"""Action chunks cut from episodes, and the statistics that normalise them.

A chunk that starts at row t holds the targets sent at t .. t+c-1, relative to the joints measured at t: relative
targets, because the noise of a flow would drown in absolute ones. Steps past the end of an episode repeat the last
target (as LeRobot's loader does) and are marked; they train nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svm_robot.errors import DataError
from svm_robot.rollout.env import FloatArray


@dataclass(frozen=True)
class Statistics:
    """What the model's normaliser holds, robot units. A standard deviation of 0 marks a number that never changes."""

    state_mean: FloatArray
    state_std: FloatArray
    """(J,)"""
    delta_mean: FloatArray
    delta_std: FloatArray
    """(c, J) of target minus joints at the chunk's start."""


def windows(action: FloatArray, chunk: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """(T, J) targets of one episode to (T, c, J) chunks and (T, c) marks of padded steps."""
    steps = np.arange(len(action))[:, None] + np.arange(chunk)[None, :]
    padded = steps >= len(action)
    return action[np.minimum(steps, len(action) - 1)], padded


def statistics(episodes: Iterable[tuple[FloatArray, FloatArray]], chunk: int) -> Statistics:
    """Means and standard deviations over episodes of (state (T, J), action (T, J)); padded steps are left out."""
    states, deltas, kept = [], [], []
    for state, action in episodes:
        chunks, padded = windows(action, chunk)
        states.append(state)
        deltas.append(chunks - state[:, None])
        kept.append(~padded)
    if not states:
        raise DataError("no episode to take statistics from")
    state, delta = np.concatenate(states).astype(np.float64), np.concatenate(deltas).astype(np.float64)
    weight = np.concatenate(kept)[..., None].astype(np.float64)
    count = np.maximum(weight.sum(axis=0), 1.0)
    mean = (weight * delta).sum(axis=0) / count
    std = np.sqrt((weight * (delta - mean) ** 2).sum(axis=0) / count)
    parts = (state.mean(axis=0), still(state.std(axis=0)), mean, still(std))
    if not all(np.isfinite(part).all() for part in parts):
        raise DataError("joints or actions are not finite; 'svm-robot label' lists the episodes, leave the bad one out")
    return Statistics(*(part.astype(np.float32) for part in parts))


def still(std: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviations below a millionth of a unit are rounding: the number never changes."""
    return np.where(std < 1e-6, 0.0, std)
