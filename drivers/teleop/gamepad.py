"""A gamepad through LeRobot's ``gamepad`` teleoperator, which tells stick deltas, a gripper command and a trigger.

The deltas are meant for a hand in space; without kinematics they move joints here: left and right the first one,
forward and back the second, up and down the third.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from lerobot.teleoperators.utils import TeleopEvents
from numpy.typing import NDArray

from svm_robot.drivers.teleop.leader import Seen
from svm_robot.errors import ConfigError, DeviceError

FloatArray = NDArray[np.float32]

DELTAS = ("delta_y", "delta_x", "delta_z")
"""What moves the first, the second, the third joint."""
STRIDE = 3.0
"""How far a joint goes in one control step with the stick at its end [robot units]."""
CLOSE, STAY, OPEN = 0, 1, 2
"""LeRobot's gripper commands."""


def has_sticks(teleoperator: Any) -> bool:
    """True for LeRobot's gamepad and whatever tells the same."""
    return set(DELTAS) <= set(teleoperator.action_features.get("names") or ())


class GamepadHand:
    """A ``Hand``; the right trigger says whether the person acts."""

    source = "human"
    latent: FloatArray | None = None

    def __init__(self, gamepad: Any, joints: Sequence[str]) -> None:
        """``gamepad``: a connected LeRobot teleoperator. Raises ``ConfigError`` for one without stick deltas."""
        if not has_sticks(gamepad):
            raise ConfigError(f"teleoperator '{gamepad.name}' tells no stick deltas; it is no gamepad")
        self.gamepad, self.joints = gamepad, tuple(joints)
        self._target: FloatArray | None = None

    def reset(self, seed: int | None = None) -> None:
        """Stay where the robot is."""
        self._target = None

    def begin(self, position: FloatArray) -> None:
        """See ``Hand``."""
        self._target = np.asarray(position, np.float32).copy()

    def act(self, observation: Seen) -> FloatArray:
        """See ``Hand``. Raises ``DeviceError`` when the gamepad is gone."""
        try:
            action = self.gamepad.get_action()
        except (OSError, RuntimeError) as error:
            raise DeviceError(f"the gamepad does not answer: {error}") from error
        if self._target is None:
            self._target = np.asarray(observation.state, np.float32).copy()
        arms = [index for index, joint in enumerate(self.joints) if "gripper" not in joint]
        for index, name in zip(arms, DELTAS, strict=False):
            self._target[index] += STRIDE * float(np.clip(action[name], -1, 1))
        turn = {CLOSE: -1.0, STAY: 0.0, OPEN: 1.0}[int(action.get("gripper", STAY))]
        for index in set(range(len(self.joints))) - set(arms):
            self._target[index] += 2 * STRIDE * turn
        return self._target[None].copy()

    def press(self, key: str) -> None:
        """It has buttons of its own."""

    def wants(self) -> bool | None:
        """The trigger."""
        return bool(self.gamepad.get_teleop_events()[TeleopEvents.IS_INTERVENTION])
