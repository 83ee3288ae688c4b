"""A person as a policy: any LeRobot teleoperator that gives absolute joint positions."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from svm_robot.errors import ConfigError, DeviceError

FloatArray = NDArray[np.float32]


class Seen(Protocol):
    """What a teleoperator needs of an observation: nothing but the place for it."""

    @property
    def state(self) -> FloatArray:
        """(J,) joint positions."""


class TeleopPolicy:
    """Asks a connected teleoperator at every step."""

    source = "human"
    latent: FloatArray | None = None

    def __init__(self, teleoperator: Any, joints: Sequence[str], degrees: bool | None = None) -> None:
        """``degrees``: whether the robot's joints are in degrees (its ``use_degrees``); None when it has no choice.

        Raises ``ConfigError`` when the teleoperator does not move exactly these joints, or in another unit.
        """
        given = joint_keys(teleoperator.action_features)
        if set(given) != set(joints):
            missing, extra = sorted(set(joints) - set(given)), sorted(set(given) - set(joints))
            raise ConfigError(
                f"teleoperator '{teleoperator.name}' does not fit this robot: "
                f"missing {', '.join(missing) or 'nothing'}, too many {', '.join(extra) or 'nothing'}"
            )
        check_units(getattr(teleoperator.config, "use_degrees", None), degrees)
        self.teleoperator, self.joints = teleoperator, tuple(joints)

    def reset(self, seed: int | None = None) -> None:
        """A person does not start anew."""

    def act(self, observation: Seen) -> FloatArray:
        """(1, J) where the teleoperator stands now, in its own units, which must be the robot's."""
        try:
            action = self.teleoperator.get_action()
        except (OSError, RuntimeError) as error:
            raise DeviceError(f"teleoperator '{self.teleoperator.name}' does not answer: {error}") from error
        return np.array([[float(action[joint]) for joint in self.joints]], np.float32)


def joint_keys(features: dict[str, Any]) -> list[str]:
    """The names of the values a teleoperator gives. LeRobot knows two forms: key -> type, and a list of names."""
    names = features.get("names")
    if isinstance(names, dict):
        return list(names)
    if isinstance(names, list):
        return names
    return list(features)


def check_units(teleop_degrees: bool | None, robot_degrees: bool | None) -> None:
    """Refuse a leader that speaks degrees to a follower that hears percent, or the other way round.

    None: the device has no such choice. Both come from the devices' ``use_degrees``.
    """
    if teleop_degrees is not None and robot_degrees is not None and teleop_degrees != robot_degrees:
        raise ConfigError(
            f"teleop.use_degrees is {str(teleop_degrees).lower()} and robot.use_degrees {str(robot_degrees).lower()}; "
            "both must be the same, or every joint goes to a wrong place"
        )
