"""True times of one episode: how steady the loop was, and what each camera really delivered.

All from capture times on the environment's own monotonic clock; the wall clock is asked nowhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from svm_robot.rollout.env import FloatArray, Observation

STOOD_S = 1.0
"""Equal pixels for so long while a joint moves are worth a note [s]."""
MOVED = 2.0
"""A joint that went this far has moved for certain [robot units]."""


@dataclass(frozen=True)
class CameraTiming:
    """What one camera delivered to the rows of an episode."""

    rate_hz: float
    """Fresh pictures per second, the first one not counted; at most the rate of the loop."""
    longest_repeat: int
    """Most rows in a row that showed the picture of the row before them again."""
    explained_repeat: int
    """How many the camera's own rate explains (from the times of its pictures), one more for jitter."""
    mean_age_s: float
    """Joints read minus picture taken."""
    max_age_s: float
    longest_identical: int
    """Most rows in a row whose pixels were those of the row before them, although their time was new."""
    frozen_s: float
    """How long such a run lasted while a joint moved; 0 where none did: a still scene is no fault."""


@dataclass(frozen=True)
class Timing:
    """How an episode kept time."""

    steps: int
    rate_hz: float
    """Achieved control rate; 0 for fewer than two steps."""
    worst_gap_s: float
    """Longest time between two steps."""
    mean_frame_age_s: float
    max_frame_age_s: float
    skew_s: float
    """Greatest difference between the capture times of the pictures of one row."""
    cameras: Mapping[str, CameraTiming]

    def to_metadata(self) -> dict[str, int | float]:
        """What the episode's metadata says of it."""
        told: dict[str, int | float] = {
            "svm/rate_hz": self.rate_hz,
            "svm/worst_gap_s": self.worst_gap_s,
            "svm/mean_frame_age_s": self.mean_frame_age_s,
            "svm/max_frame_age_s": self.max_frame_age_s,
            "svm/camera_skew_s": self.skew_s,
        }
        for role, camera in self.cameras.items():
            told[f"svm/camera_rate_hz/{role}"] = camera.rate_hz
            told[f"svm/longest_repeat/{role}"] = camera.longest_repeat
            told[f"svm/longest_identical/{role}"] = camera.longest_identical
        return told

    def camera_notes(self) -> list[str]:
        """What is worth telling of the cameras, in words; empty when nothing is."""
        notes = []
        for role, camera in self.cameras.items():
            if camera.longest_repeat > camera.explained_repeat:
                notes.append(
                    f"camera {role} stood still for {camera.longest_repeat} rows "
                    f"(its own rate explains {camera.explained_repeat})"
                )
            if camera.frozen_s >= STOOD_S:
                notes.append(
                    f"camera {role}: {camera.longest_identical + 1} pictures in a row are bit-identical although their "
                    "times are new and the arm moved; is it frozen?"
                )
        return notes


@dataclass(frozen=True)
class SlowLoop:
    """When a loop counts as slow, and whether such an episode is rejected."""

    reject: bool = False
    min_rate: float = 0.95
    """Achieved rate as a share of the rate asked for."""
    max_gap: float = 3.0
    """Longest time between two steps [periods of the rate asked for]."""

    def complaints(self, timing: Timing, rate_hz: float) -> list[str]:
        """In what an episode was too slow, in words; empty when it was not, or has fewer than two steps."""
        found = []
        if timing.steps > 1 and timing.rate_hz < self.min_rate * rate_hz:
            found.append(f"{timing.rate_hz:.1f} Hz instead of {rate_hz:g} Hz")
        if timing.worst_gap_s > self.max_gap / rate_hz:
            found.append(
                f"{1e3 * timing.worst_gap_s:.0f} ms between two steps, {1e3 * self.max_gap / rate_hz:.0f} ms allowed"
            )
        return found


class Stopwatch:
    """Collects the times of an episode's rows."""

    def __init__(self, roles: Sequence[str]) -> None:
        self.taken: dict[str, list[float]] = {role: [] for role in roles}
        """Camera role -> capture time of each row's picture [s]."""
        self.identical: dict[str, list[bool]] = {role: [] for role in roles}
        self.read: list[float] = []
        """When the joints of each row were read [s]."""
        self.states: list[FloatArray] = []

    def fresh(self, seen: Observation) -> dict[str, bool]:
        """Camera role -> whether its picture is another than that of the last row that was added, by capture time."""
        return {role: not times or seen.frame_times_s[role] != times[-1] for role, times in self.taken.items()}

    def add(self, seen: Observation, identical: Mapping[str, bool]) -> None:
        """One more row; ``identical``: camera role -> a fresh time, but the pixels of the row before."""
        self.read.append(seen.state_time_s)
        self.states.append(seen.state)
        for role, times in self.taken.items():
            times.append(seen.frame_times_s[role])
            self.identical[role].append(identical[role])

    def result(self) -> Timing:
        """The figures of all rows so far."""
        gaps = np.diff(self.read)
        rate_hz = float(1 / gaps.mean()) if len(gaps) and gaps.mean() > 0 else 0.0
        taken = np.array(list(self.taken.values())).reshape(len(self.taken), len(self.read))
        ages = np.array(self.read) - taken
        return Timing(
            steps=len(self.read),
            rate_hz=rate_hz,
            worst_gap_s=float(gaps.max()) if len(gaps) else 0.0,
            mean_frame_age_s=float(ages.mean()) if ages.size else 0.0,
            max_frame_age_s=float(ages.max()) if ages.size else 0.0,
            skew_s=float(np.ptp(taken, axis=0).max()) if taken.size else 0.0,
            cameras={role: self._camera(role, rate_hz) for role in self.taken if self.read},
        )

    def _camera(self, role: str, rate_hz: float) -> CameraTiming:
        times, ages = np.array(self.taken[role]), np.array(self.read) - np.array(self.taken[role])
        repeated = np.diff(times) == 0
        steps = max(1, len(repeated))
        run = longest(self.identical[role])
        return CameraTiming(
            rate_hz=rate_hz * (len(repeated) - int(repeated.sum())) / steps,
            longest_repeat=len(longest(repeated)),
            explained_repeat=explained(times, np.array(self.read)),
            mean_age_s=float(ages.mean()),
            max_age_s=float(ages.max()),
            longest_identical=len(run),
            frozen_s=self._frozen_s(range(run.start - 1, run.stop)) if run else 0.0,
        )

    def _frozen_s(self, rows: range) -> float:
        """How long these rows lasted, if a joint moved meanwhile."""
        way = np.ptp(np.stack(self.states[rows.start : rows.stop]), axis=0).max()
        return self.read[rows.stop - 1] - self.read[rows.start] if way >= MOVED else 0.0


def longest(flags: Sequence[bool] | NDArray[np.bool_]) -> range:
    """Where the longest run of True lies; empty when there is none."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.asarray(flags, np.int8), [0]))))
    runs = [range(int(start), int(stop)) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
    return max(runs, key=len, default=range(0))


def explained(taken: NDArray[np.float64], read: NDArray[np.float64]) -> int:
    """How many repeats in a row the camera's own period explains, beside the loop's: one more for jitter.

    The medians are taken of the differences, so that a stall explains nothing.
    """
    new, steps = np.diff(taken)[np.diff(taken) > 0], np.diff(read)
    if not len(new) or not np.median(steps) > 0:
        return 1
    return max(1, ceil(float(np.median(new) / np.median(steps)) - 0.25))
