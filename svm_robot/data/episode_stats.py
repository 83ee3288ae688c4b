"""Statistics of an episode in the shape LeRobot stores them, and their merge over episodes.

Numbers get exact quantiles. Pictures are counted into a histogram of 256 values for each channel while they pass
by, which makes their quantiles exact as well (of every k-th pixel) and costs microseconds per frame.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.rollout.env import ImageArray

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
SAMPLED_EDGE = 128
"""Pictures are thinned until no edge has more than about this many pixels [pixels]."""

Stats = dict[str, NDArray[Any]]


def column_stats(values: NDArray[Any]) -> Stats:
    """Statistics over the first axis of (T, n) numbers; each is (n,), ``count`` is (1,)."""
    numbers = values.astype(np.float64)
    stats = {
        "min": numbers.min(0),
        "max": numbers.max(0),
        "mean": numbers.mean(0),
        "std": numbers.std(0),
        "count": np.array([len(numbers)]),
    }
    quantiles = np.quantile(numbers, list(QUANTILES.values()), axis=0)
    return stats | dict(zip(QUANTILES, quantiles, strict=True))


class PictureStats:
    """Running statistics of one camera's frames, scaled to 0..1, each of shape (3, 1, 1)."""

    def __init__(self) -> None:
        self.frames = 0
        self.histogram = np.zeros((3, 256), np.int64)

    def add(self, frame: ImageArray) -> None:
        """Count (H, W, 3) RGB."""
        step = -(-max(frame.shape[:2]) // SAMPLED_EDGE)
        thinned = frame[::step, ::step]
        for channel in range(3):
            self.histogram[channel] += np.bincount(thinned[..., channel].ravel(), minlength=256)
        self.frames += 1

    def result(self) -> Stats:
        """Statistics so far; at least one frame must have been added."""
        values = np.arange(256) / 255.0
        share = self.histogram / self.histogram.sum(1, keepdims=True)
        mean = share @ values
        seen = self.histogram > 0
        stats = {
            "min": values[seen.argmax(1)],
            "max": values[255 - seen[:, ::-1].argmax(1)],
            "mean": mean,
            "std": np.sqrt(np.maximum(share @ values**2 - mean**2, 0.0)),
        }
        cumulated = share.cumsum(1)
        for name, quantile in QUANTILES.items():
            stats[name] = values[(cumulated >= quantile - 1e-12).argmax(1)]
        shaped = {name: value.reshape(3, 1, 1) for name, value in stats.items()}
        return shaped | {"count": np.array([self.frames])}


def merge(old: Mapping[str, Stats], new: Mapping[str, Stats]) -> dict[str, Stats]:
    """Statistics of two sets of rows together; quantiles are averaged by count, as LeRobot does."""
    return {key: merge_one(old[key], stats) if key in old else stats for key, stats in new.items()}


def merge_one(old: Stats, new: Stats) -> Stats:
    """The same for one column."""
    total = old["count"] + new["count"]
    weight_old, weight_new = float(old["count"][0] / total[0]), float(new["count"][0] / total[0])
    mean = weight_old * old["mean"] + weight_new * new["mean"]
    variance = weight_old * (old["std"] ** 2 + (old["mean"] - mean) ** 2)
    variance = variance + weight_new * (new["std"] ** 2 + (new["mean"] - mean) ** 2)
    merged = {
        "min": np.minimum(old["min"], new["min"]),
        "max": np.maximum(old["max"], new["max"]),
        "mean": mean,
        "std": np.sqrt(variance),
        "count": total,
    }
    return merged | {name: weight_old * old[name] + weight_new * new[name] for name in QUANTILES}


def to_json(stats: Mapping[str, Stats]) -> dict[str, dict[str, Any]]:
    """Plain lists."""
    return {key: {name: value.tolist() for name, value in column.items()} for key, column in stats.items()}


def from_json(plain: Mapping[str, Mapping[str, Any]]) -> dict[str, Stats]:
    """The inverse of ``to_json``."""
    return {key: {name: np.array(value) for name, value in column.items()} for key, column in plain.items()}
