"""The world a policy acts in: a rig, the lockstep simulator and a recording all satisfy ``Env``.

Only plain values cross this seam, so the rooms behind it need not import this one: they satisfy it by shape.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
ImageArray = NDArray[np.uint8]


class RigShape(Protocol):
    """The shape of what is seen and sent: what a checkpoint or a dataset is compared with."""

    @property
    def robot_type(self) -> str:
        """Name of the robot, for example ``virtual_so101``."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Joint keys in the order of every state and action vector, for example ``shoulder_pan.pos``."""

    @property
    def cameras(self) -> Mapping[str, tuple[int, int]]:
        """Camera role -> (height, width) in pixels."""

    @property
    def rate_hz(self) -> float:
        """Control steps per second of robot time."""


class EnvSpec(RigShape, Protocol):
    """What an environment is, before anything moves: its shape, and which very devices it consists of."""

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each joint: ``deg``, ``%`` (0..100), ``±%`` (-100..100), ``""`` unknown; empty: none is known."""

    @property
    def robot_id(self) -> str:
        """The name this very robot goes by; ``""`` when it has none."""

    @property
    def calibration(self) -> str:
        """16 hex digits that stand for the calibration in use; ``""`` unknown."""

    @property
    def camera_identities(self) -> Mapping[str, str]:
        """Camera role -> which device it is (path, index, serial number); a role that is not named is unknown."""


class Observation(Protocol):
    """What was read at one tick. Each reading carries its own capture time."""

    @property
    def state(self) -> FloatArray:
        """(J,) joint positions in the robot's own units (LeRobot: degrees, gripper 0..100)."""

    @property
    def state_time_s(self) -> float:
        """When the joints were read, on the environment's monotonic clock [s]."""

    @property
    def frames(self) -> Mapping[str, ImageArray]:
        """Camera role -> (H, W, 3) RGB; empty when the frames were not asked for."""

    @property
    def frame_times_s(self) -> Mapping[str, float]:
        """Camera role -> capture time on the same clock as ``state_time_s`` [s]."""


class Applied(Protocol):
    """What safety made of an action."""

    @property
    def sent(self) -> FloatArray:
        """(J,) the targets really sent to the motors, in the units of ``Observation.state``."""

    @property
    def clipped(self) -> bool:
        """True when ``sent`` differs from what was asked for."""


class Env(Protocol):
    """Five verbs. Not thread-safe; ``close`` may be called twice."""

    @property
    def spec(self) -> EnvSpec:
        """What this environment is; constant."""

    def reset(self, seed: int | None = None) -> None:
        """Bring arm and scene to a start. Blocks until they are there. Same seed, same start (where the world can)."""

    def observe(self, frames: bool = True) -> Observation:
        """Wait for the next tick of the control rate, then read. The first call after ``reset`` does not wait.

        Raises ``svm_robot.errors.StaleError`` when a reading is older than allowed.
        """

    def apply(self, action: FloatArray) -> Applied:
        """Send (J,) absolute joint targets through the safety limits; does not wait.

        Raises ``svm_robot.errors.UnsafeActionError`` for a non-finite or wrongly shaped action; nothing is sent then.
        """

    def rest(self, error: BaseException | None = None) -> None:
        """The episode is over: no more actions come until the next ``reset``. The first thing that is done then.

        ``error``: what broke it off. The arm is then stopped where it is; after anything but a ``StaleError`` the
        motors are made safe for good. Raises nothing that its devices do; what failed is told by ``close``.
        """

    def close(self) -> None:
        """Stop and release everything, in a safe order."""
