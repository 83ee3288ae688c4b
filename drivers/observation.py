"""The plain values a driver hands out. They satisfy the seams of ``svm_robot.rollout`` by shape."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
ImageArray = NDArray[np.uint8]


@dataclass(frozen=True)
class Spec:
    """What an environment is, before anything moves."""

    robot_type: str
    joints: tuple[str, ...]
    """Joint keys in the order of every state and action vector."""
    cameras: Mapping[str, tuple[int, int]]
    """Camera role -> (height, width) in pixels."""
    rate_hz: float
    """Control steps per second of robot time."""
    units: tuple[str, ...] = ()
    """Unit of each joint: ``deg``, ``%`` (0..100), ``±%`` (-100..100), ``""`` unknown; empty: none is known."""
    robot_id: str = ""
    """The name this very robot goes by; empty when it has none."""
    calibration: str = ""
    """16 hex digits that stand for the calibration in use; empty: unknown."""
    camera_identities: Mapping[str, str] = field(default_factory=dict)
    """Camera role -> which device it is; a role that is not named is unknown."""


@dataclass(frozen=True)
class Observation:
    """What was read at one tick; every reading with its capture time on one monotonic clock."""

    state: FloatArray
    """(J,) joint positions in robot units."""
    state_time_s: float
    frames: Mapping[str, ImageArray]
    """Camera role -> (H, W, 3) RGB; empty when frames were not asked for."""
    frame_times_s: Mapping[str, float]


@dataclass(frozen=True)
class Applied:
    """What safety made of an action."""

    sent: FloatArray
    """(J,) the targets really sent, in robot units."""
    clipped: bool
    """True when ``sent`` differs from what was asked for."""
