"""How good a classifier of successes and failures is, with intervals over EPISODES.

Frames of one episode are no independent draws, so every interval resamples whole episodes; row weights carry that.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A figure and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def as_list(self) -> list[float]:
        """[value, low, high] for JSON."""
        return [self.value, self.low, self.high]


def auc(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> float:
    """P(score of a success > score of a failure), ties count half. ``ValueError`` unless both classes have weight."""
    score, label, weight = _rows(scores, labels, weights)
    _, group = np.unique(score, return_inverse=True)
    positive = np.bincount(group, weight * label)
    negative = np.bincount(group, weight * (1 - label))
    if positive.sum() == 0 or negative.sum() == 0:
        raise ValueError("AUC needs successes and failures")
    below = np.cumsum(negative) - negative
    return float((positive * (below + negative / 2)).sum() / (positive.sum() * negative.sum()))


def brier(probabilities: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Mean squared error of the probabilities: 0 perfect, .25 for always saying one half."""
    probability, label, weight = _rows(probabilities, labels, weights)
    return float(np.average((probability - label) ** 2, weights=weight))


def calibration_error(
    probabilities: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None, bins: int = 10
) -> float:
    """Expected calibration error: mean over equal-width bins of |mean probability - share of successes|."""
    probability, label, weight = _rows(probabilities, labels, weights)
    bin_of = np.minimum((probability * bins).astype(int), bins - 1)
    gap = np.bincount(bin_of, weight * (probability - label), minlength=bins)
    return float(np.abs(gap).sum() / weight.sum())


def balanced_weights(labels: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """(n,) weights that give successes and failures half each: what log w+/w- is a statement about."""
    label, _, weight = _rows(labels, labels, weights)
    positive, negative = (weight * label).sum(), (weight * (1 - label)).sum()
    if positive == 0 or negative == 0:
        raise ValueError("balancing needs successes and failures")
    balanced: Array = weight * np.where(label > 0, 0.5 / positive, 0.5 / negative)
    return balanced


def bootstrap(
    statistic: Callable[[Array], float],
    episodes: ArrayLike,
    labels: ArrayLike,
    resamples: int = 300,
    seed: int = 0,
) -> Interval:
    """``statistic(row weights)`` and its 95 % interval when EPISODES are drawn again, as many of each outcome.

    episodes: (n,) episode of each row; labels: (n,) 1 for rows of successes, 0 for rows of failures.
    """
    names, row_episode = np.unique(np.asarray(episodes), return_inverse=True)
    label = np.zeros(len(names))
    label[row_episode] = np.asarray(labels, float)
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(resamples):
        counts = np.zeros(len(names))
        for value in (0.0, 1.0):
            members = np.flatnonzero(label == value)
            if len(members):
                counts += np.bincount(rng.choice(members, len(members)), minlength=len(names))
        draws.append(statistic(counts[row_episode]))
    low, high = np.percentile(draws, [2.5, 97.5])
    return Interval(statistic(np.ones(len(row_episode))), float(low), float(high))


def _rows(values: ArrayLike, labels: ArrayLike, weights: ArrayLike | None) -> tuple[Array, Array, Array]:
    value, label = np.asarray(values, float), np.asarray(labels, float)
    weight = np.ones(len(value)) if weights is None else np.asarray(weights, float)
    if not len(value) == len(label) == len(weight):
        raise ValueError(f"{len(value)} values, {len(label)} labels, {len(weight)} weights")
    if not np.isfinite(value).all():
        raise ValueError(f"{np.count_nonzero(~np.isfinite(value))} of {len(value)} values are not finite")
    return value, label, weight
