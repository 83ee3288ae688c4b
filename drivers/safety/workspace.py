"""A box that the tip of the gripper does not leave. Only the tip is watched: elbow and base know no box."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.kinematics import GEOMETRIES, Kinematics
from svm_robot.errors import ConfigError

FloatArray = NDArray[np.float64]

AXES = ("x", "y", "z")
PARTS = 32
"""How closely the border is approached in one step: to one part in so many."""


class Workspace:
    """Stops targets at the walls. Pure."""

    def __init__(self, box: Mapping[str, Sequence[float]], kinematics: Kinematics | None) -> None:
        """``box``: axis (x, y, z) -> [lower, upper] in metres, in the frame of ``drivers/kinematics.py``.

        Raises ``ConfigError`` for another axis, an empty side, or a robot whose kinematics nobody knows.
        """
        if kinematics is None:
            raise ConfigError(
                "safety.workspace needs to know where the gripper is, and the kinematics of this robot are not known "
                f"(known: {', '.join(GEOMETRIES)}); use safety.limits instead"
            )
        self.kinematics = kinematics
        if unknown := sorted(set(box) - set(AXES)):
            raise ConfigError(f"safety.workspace has no axis {', '.join(unknown)}; the axes are x, y, z")
        for axis, side in box.items():
            if len(side) != 2 or any(math.isnan(end) for end in side) or not side[0] < side[1]:
                raise ConfigError(
                    f"safety.workspace.{axis} must be [lower, upper] in metres, the lower one first; got {list(side)}"
                )
        self.lower = np.array([box[axis][0] if axis in box else -math.inf for axis in AXES])
        self.upper = np.array([box[axis][1] if axis in box else math.inf for axis in AXES])

    def outside(self, targets: FloatArray) -> FloatArray:
        """(..., J) -> (...) how far the tip lies beyond the wall it has passed furthest [m]; 0 inside."""
        tip = self.kinematics.tip(targets)
        beyond: FloatArray = np.maximum(self.lower - tip, tip - self.upper).max(axis=-1, initial=0.0)
        return beyond

    def restrict(self, last: FloatArray, wanted: FloatArray) -> tuple[FloatArray, str]:
        """As much of the way from ``last`` to ``wanted`` (J,) as stays inside, and in words why it is not all of it.

        All joints together go as far as they can; then each goes on alone as far as it can, so that the tip slides
        along a wall instead of sticking to it. A tip that is outside already may move, but not further outside.
        """
        before, after = self.outside(np.stack([last, wanted]))
        level = float(before) + 1e-9
        if after <= level:
            return wanted, ""
        kept = np.where(self.kinematics.moves, last, wanted)
        kept = self._furthest(kept, wanted, level)
        for joint in np.flatnonzero(self.kinematics.moves & (kept != wanted)):
            alone = kept.copy()
            alone[joint] = wanted[joint]
            kept = self._furthest(kept, alone, level)
        return kept, self.why(wanted)

    def _furthest(self, begin: FloatArray, end: FloatArray, level: float) -> FloatArray:
        """The last point on the straight way that is allowed; ``begin`` is."""
        way = begin + np.linspace(0, 1, PARTS + 1)[:, None] * (end - begin)
        beyond = np.flatnonzero(self.outside(way[1:]) > level)
        stop: FloatArray = way[beyond[0]] if beyond.size else end
        return stop

    def why(self, wanted: FloatArray) -> str:
        """Which walls the tip of ``wanted`` (J,) has passed."""
        tip = self.kinematics.tip(wanted)
        walls = []
        for axis, place, low, high in zip(AXES, tip, self.lower, self.upper, strict=True):
            if not low <= place <= high:
                walls.append(f"{axis} = {place:.3f} m (allowed {low:g} to {high:g})")
        return f"the tip of the gripper would go to {', '.join(walls)}"
