"""Where the tip of the gripper is: forward kinematics of the arms whose geometry is known, from a table.

Frame: x forward, y to the left, z up. The virtual arm's origin lies on the table under the first joint; a real SO-101's
is that of its maker's model (``so101_new_calib.urdf``): the underside of the base, 39 mm behind the first joint.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svm_robot.drivers.limits import half_range_deg

Vector = tuple[float, float, float]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Link:
    """One turning joint, fixed to the one before."""

    joint: str
    offset: Vector
    """From the joint before [m]."""
    turn: Vector = (0.0, 0.0, 0.0)
    """How it is fixed there: roll, pitch, yaw [rad]."""
    axis: Vector = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Geometry:
    """A chain of links and what sits at its end."""

    links: tuple[Link, ...]
    tip: Vector
    """From the last joint to the point between the finger tips [m]."""


_Y: Vector = (0.0, 1.0, 0.0)
_QUARTER = math.pi / 2

VIRTUAL_SO101 = Geometry(
    (
        Link("shoulder_pan.pos", (0.0, 0.0, 0.060)),
        Link("shoulder_lift.pos", (0.0, 0.0, 0.055), axis=_Y),
        Link("elbow_flex.pos", (0.0, 0.0, 0.113), axis=_Y),
        Link("wrist_flex.pos", (0.135, 0.0, 0.0), axis=_Y),
        Link("wrist_roll.pos", (0.030, 0.0, 0.0), axis=(1.0, 0.0, 0.0)),
    ),
    tip=(0.075, 0.0, 0.0),
)
SO101 = Geometry(
    (
        Link("shoulder_pan.pos", (0.0388353, 0.0, 0.0624), (math.pi, 0.0, -math.pi)),
        Link("shoulder_lift.pos", (-0.0303992, -0.0182778, -0.0542), (-_QUARTER, -_QUARTER, 0.0)),
        Link("elbow_flex.pos", (-0.11257, -0.028, 0.0), (0.0, 0.0, _QUARTER)),
        Link("wrist_flex.pos", (-0.1349, 0.0052, 0.0), (0.0, 0.0, -_QUARTER)),
        Link("wrist_roll.pos", (0.0, -0.0611, 0.0181), (_QUARTER, 0.0486795, math.pi)),
    ),
    tip=(-0.0079, -0.0002181, -0.0981274),
)
GEOMETRIES: Mapping[str, Geometry] = {
    "virtual_so101": VIRTUAL_SO101,
    "so101_follower": SO101,
    "so100_follower": SO101,  # LeRobot has one class for both; their links differ by a millimetre or two
}
"""LeRobot's ``type`` of a robot -> its geometry."""


class Kinematics:
    """One arm's geometry and the units of its joints."""

    def __init__(self, geometry: Geometry, joints: Sequence[str], scale: Mapping[str, float]) -> None:
        """``joints``: the order of every vector. ``scale``: joint key -> radians of one robot unit; 0 is its middle."""
        self.geometry = geometry
        self._index = [list(joints).index(link.joint) for link in geometry.links]
        self._scale = np.array([scale[link.joint] for link in geometry.links])
        fixed = np.array([_rotation(link.turn) for link in geometry.links])
        cross = np.array([_cross(link.axis) for link in geometry.links])
        # Rodrigues: a turn by an angle is 1 + sin K + (1 - cos) K K, with K the matrix that multiplies with the axis
        self._still = fixed @ (np.eye(3) + cross @ cross)
        self._sine, self._cosine = fixed @ cross, -fixed @ cross @ cross
        self.moves = np.isin(np.arange(len(joints)), self._index)
        """(J,) True for joints that move the tip."""

    def tip(self, targets: ArrayLike) -> FloatArray:
        """(..., J) robot units -> (..., 3) where the tip is [m], in the frame of the base."""
        angles = (np.asarray(targets, np.float64)[..., self._index] * self._scale)[..., None, None]
        turns = self._still + np.sin(angles) * self._sine + np.cos(angles) * self._cosine
        place: FloatArray = np.array(self.geometry.tip)
        for number, link in reversed(list(enumerate(self.geometry.links))):
            place = (turns[..., number, :, :] @ place[..., None])[..., 0] + link.offset
        return place


def known_kinematics(robot: Any, joints: Sequence[str]) -> Kinematics | None:
    """The kinematics of a LeRobot robot; None for one whose geometry or whose joints' ranges nobody has told us."""
    geometry = GEOMETRIES.get(getattr(getattr(robot, "config", None), "type", "") or robot.name)
    if geometry is None or any(link.joint not in joints for link in geometry.links):
        return None
    if geometry is VIRTUAL_SO101:
        return virtual_kinematics(joints)
    bus = getattr(robot, "bus", None)
    scale = {link.joint: _radians_per_unit(bus, link.joint.removesuffix(".pos")) for link in geometry.links}
    return Kinematics(geometry, joints, scale) if all(scale.values()) else None


def virtual_kinematics(joints: Sequence[str]) -> Kinematics:
    """Of the virtual arm: degrees."""
    return Kinematics(VIRTUAL_SO101, joints, {link.joint: math.radians(1) for link in VIRTUAL_SO101.links})


def _radians_per_unit(bus: Any, motor: str) -> float:
    """From LeRobot's mode of a motor and, for percentages, its calibrated range; 0 where that is not known."""
    match bus.motors[motor].norm_mode.value:
        case "degrees":
            return math.radians(1)
        case "range_m100_100" if motor in (bus.calibration or {}):
            return math.radians(half_range_deg(bus, motor)) / 100
    return 0.0


def _rotation(turn: Vector) -> FloatArray:
    """The matrix of roll, pitch, yaw about the fixed x, y, z."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(turn), np.cos(turn)
    rows = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    return np.array(rows)


def _cross(axis: Vector) -> FloatArray:
    """The matrix that multiplies crosswise with ``axis``."""
    x, y, z = axis
    return np.array([(0, -z, y), (z, 0, -x), (-y, x, 0)], np.float64)
