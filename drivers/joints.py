"""The six joints of an SO-101: names, ranges, and the conversion between radians and LeRobot's units.

Robot units are LeRobot's: degrees about the middle of the range for five joints, 0 (closed) to 100 (open) for the
gripper. A servo that reads ``2048 + (q - middle) * 4096 / 2 pi`` gives the same numbers through LeRobot's calibration.
"""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float32]

MOTORS: tuple[str, ...] = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
"""Motor names in bus order; motor ids are 1..6."""

JOINTS: tuple[str, ...] = tuple(f"{motor}.pos" for motor in MOTORS)
"""Joint keys in the order of every state and action vector."""

RANGES_RAD: NDArray[np.float64] = np.array(
    [(-1.92, 1.92), (-1.75, 1.75), (-1.69, 1.69), (-1.66, 1.66), (-2.79, 2.79), (-0.4, 1.1)]
)
"""(6, 2) lower and upper end of each joint [rad], as in virtual/so101.xml."""
RANGES_RAD.flags.writeable = False

MIDDLES_RAD: NDArray[np.float64] = RANGES_RAD.mean(axis=1)
"""(6,) middle of each range [rad]: where LeRobot's degrees are zero."""
MIDDLES_RAD.flags.writeable = False

GRIPPER = JOINTS.index("gripper.pos")
_GRIPPER_SPAN_RAD = float(RANGES_RAD[GRIPPER, 1] - RANGES_RAD[GRIPPER, 0])
_SCALE = np.full(len(JOINTS), 180 / math.pi)
_SCALE[GRIPPER] = 100 / _GRIPPER_SPAN_RAD
_ZERO_RAD = MIDDLES_RAD.copy()
_ZERO_RAD[GRIPPER] = RANGES_RAD[GRIPPER, 0]

TICKS_PER_TURN = 4096
"""Encoder steps of one turn of an STS3215 servo."""
MIDDLE_TICK = 2048


def to_units(radians: ArrayLike) -> FloatArray:
    """(..., 6) joint angles [rad] -> robot units (degrees, gripper 0..100)."""
    units: FloatArray = ((np.asarray(radians, np.float64) - _ZERO_RAD) * _SCALE).astype(np.float32)
    return units


def to_radians(units: ArrayLike) -> NDArray[np.float64]:
    """(..., 6) robot units -> joint angles [rad]."""
    radians: NDArray[np.float64] = np.asarray(units, np.float64) / _SCALE + _ZERO_RAD
    return radians


def to_ticks(radians: ArrayLike) -> NDArray[np.int64]:
    """(..., 6) joint angles [rad] -> servo encoder steps, 2048 at the middle of the range."""
    turns = (np.asarray(radians, np.float64) - MIDDLES_RAD) / (2 * math.pi)
    return np.rint(MIDDLE_TICK + turns * TICKS_PER_TURN).astype(np.int64)


def from_ticks(ticks: ArrayLike) -> NDArray[np.float64]:
    """(..., 6) servo encoder steps -> joint angles [rad]."""
    return (np.asarray(ticks, np.float64) - MIDDLE_TICK) * (2 * math.pi / TICKS_PER_TURN) + MIDDLES_RAD


def _limits() -> dict[str, tuple[float, float]]:
    lower, upper = to_units(RANGES_RAD.T)
    return {joint: (float(lower[i]), float(upper[i])) for i, joint in enumerate(JOINTS)}


JOINT_LIMITS: Mapping[str, tuple[float, float]] = _limits()
"""Joint key -> (lower, upper) in robot units."""

JOINT_UNITS: tuple[str, ...] = tuple("%" if joint == "gripper.pos" else "deg" for joint in JOINTS)
"""Unit of each joint, as ``drivers/identity.py`` names them."""
