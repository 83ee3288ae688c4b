"""Limits below the seam: what may reach a motor, whoever asked for it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.drivers.observation import Applied
from svm_robot.errors import ConfigError, UnsafeActionError


@dataclass
class SafetyConfig:
    """How fast and how far the joints may go."""

    # greatest speed of a joint target, in robot units per second (SO-101: degrees per second)
    max_speed: float = 115.0
    # the same for the gripper, whose unit is a percentage of its opening
    max_gripper_speed: float = 235.0
    # joints with a speed of their own, for example {"shoulder_pan.pos": 60}
    max_speed_by_joint: dict[str, float] = field(default_factory=dict)
    # narrower limits than the robot's own, for example {"wrist_roll.pos": [-90, 90]}
    limits: dict[str, list[float]] = field(default_factory=dict)
    # when a camera counts as faulty
    cameras: CameraLimits = field(default_factory=CameraLimits)


class Safety:
    """Clamps targets to the joint limits and to a greatest step per control period; refuses what is no number."""

    def __init__(
        self,
        config: SafetyConfig,
        joints: Sequence[str],
        limits: Mapping[str, tuple[float, float]],
        rate_hz: float,
    ) -> None:
        """``limits``: joint key -> (lower, upper) in robot units; a joint without an entry has no range limit.

        Raises ``ConfigError`` for a joint the robot does not have, an empty range or a speed that is not positive.
        """
        self.joints = tuple(joints)
        self._check_names(config)
        if not rate_hz > 0:
            raise ConfigError(f"rate_hz must be above 0, got {rate_hz}")
        ranges = [self._range(joint, config, limits) for joint in self.joints]
        self.lower = np.array([low for low, _ in ranges])
        self.upper = np.array([high for _, high in ranges])
        self.max_step = np.array([self._speed(joint, config) for joint in self.joints]) / rate_hz

    def limit(self, requested: ArrayLike, previous: ArrayLike) -> Applied:
        """What may be sent of ``requested`` (J,), coming from ``previous`` (J,): the last target, or the measured pose.

        Raises ``UnsafeActionError`` for another shape or a value that is not finite; nothing may be sent then.
        """
        asked = self.checked(requested, "action")
        last = self.checked(previous, "measured position")
        # Range first, step last: a joint found outside its range walks back in, it does not jump.
        inside = np.clip(asked, self.lower, self.upper)
        sent = np.clip(inside, last - self.max_step, last + self.max_step).astype(np.float32)
        return Applied(sent, bool(np.any(sent != asked.astype(np.float32))))

    def checked(self, values: ArrayLike, what: str) -> NDArray[np.float64]:
        """(J,) finite numbers, or ``UnsafeActionError`` naming the joint."""
        try:
            array = np.asarray(values, np.float64)
        except (TypeError, ValueError):
            raise UnsafeActionError(f"{what} is not a list of numbers: {values!r}; nothing was sent") from None
        if array.shape != (len(self.joints),):
            raise UnsafeActionError(
                f"{what} has shape {array.shape}, expected ({len(self.joints)},): one number for each of "
                f"{', '.join(self.joints)}; nothing was sent"
            )
        bad = np.flatnonzero(~np.isfinite(array))
        if bad.size:
            named = ", ".join(f"{self.joints[i]} = {array[i]}" for i in bad)
            raise UnsafeActionError(f"{what} is not finite: {named}; nothing was sent")
        return array

    def _check_names(self, config: SafetyConfig) -> None:
        for option in ("max_speed_by_joint", "limits"):
            unknown = sorted(set(getattr(config, option)) - set(self.joints))
            if unknown:
                raise ConfigError(
                    f"safety.{option} names {', '.join(unknown)}; the joints of this robot are {', '.join(self.joints)}"
                )

    def _range(
        self, joint: str, config: SafetyConfig, limits: Mapping[str, tuple[float, float]]
    ) -> tuple[float, float]:
        low, high = limits.get(joint, (-np.inf, np.inf))
        if joint in config.limits:
            own = config.limits[joint]
            if len(own) != 2 or any(math.isnan(end) for end in own):
                raise ConfigError(f"safety.limits of {joint} must be [lower, upper], got {own}")
            low, high = max(low, own[0]), min(high, own[1])
        if not low < high:
            raise ConfigError(f"safety.limits of {joint} leave no room: lower {low} is not below upper {high}")
        return low, high

    def _speed(self, joint: str, config: SafetyConfig) -> float:
        common = config.max_gripper_speed if joint == "gripper.pos" else config.max_speed
        speed = config.max_speed_by_joint.get(joint, common)
        if not speed > 0:
            raise ConfigError(f"the greatest speed of {joint} must be above 0, got {speed}")
        return float(speed)
