"""Closed-form inverse kinematics of the virtual arm: a turning base, a planar two-link arm, and a wrist.

Frame: the base frame of ``so101.xml``, x forward, y to the left, z up, the origin on the table under the first joint.
``pitch`` is how far the gripper points below the horizon [rad]; at pi/2 it points straight down.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SHOULDER_HEIGHT = 0.115
UPPER_ARM = 0.113
FOREARM = 0.135
WRIST_TO_GRIP = 0.105
"""From the wrist's bending axis to the point between the jaws [m]."""
_REACH = UPPER_ARM + FOREARM - 1e-4
_NEAREST = 0.06
_WRIST_RANGE = 1.62
_FLATTEST = 0.6


def inverse(position: Sequence[float], pitch: float, roll: float = 0.0) -> NDArray[np.float64]:
    """(5,) joint angles [rad] that bring the grip point to ``position`` (x, y, z) [m], elbow up.

    Where the arm or the wrist's range is too short for this pitch the gripper is held flatter; a point that is still
    out of reach is pointed at.
    """
    x, y, z = position
    radius = math.hypot(x, y)
    angles, reached = _planar(radius, z, pitch)
    while not reached and pitch > _FLATTEST:
        pitch -= 0.02
        angles, reached = _planar(radius, z, pitch)
    return np.array([math.atan2(y, x), *angles, roll])


def _planar(radius: float, z: float, pitch: float) -> tuple[tuple[float, float, float], bool]:
    """Lift, elbow and wrist angles [rad] for a grip point in the arm's own plane, and whether they get there."""
    wrist_r = radius - WRIST_TO_GRIP * math.cos(pitch)
    wrist_z = z - SHOULDER_HEIGHT + WRIST_TO_GRIP * math.sin(pitch)
    asked = math.hypot(wrist_r, wrist_z)
    distance = min(max(asked, _NEAREST), _REACH)
    cos_shoulder = (UPPER_ARM**2 + distance**2 - FOREARM**2) / (2 * UPPER_ARM * distance)
    cos_elbow = (UPPER_ARM**2 + FOREARM**2 - distance**2) / (2 * UPPER_ARM * FOREARM)
    upper_elevation = math.atan2(wrist_z, wrist_r) + math.acos(cos_shoulder)
    forearm_elevation = upper_elevation - (math.pi - math.acos(cos_elbow))
    lift = math.pi / 2 - upper_elevation
    elbow = -forearm_elevation - lift
    flex = pitch - lift - elbow
    return (lift, elbow, flex), asked == distance and abs(flex) <= _WRIST_RANGE


def roll_for_yaw(pan: float, yaw: float) -> float:
    """The wrist roll [rad] that lines the jaws up with a cube turned by ``yaw``; a quarter turn makes no difference."""
    turned = pan - yaw
    return (turned + math.pi / 4) % (math.pi / 2) - math.pi / 4
