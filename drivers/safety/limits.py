"""Limits below the seam: what may reach a motor, whoever asked for it."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svm_robot.drivers.kinematics import Kinematics
from svm_robot.drivers.observation import Applied
from svm_robot.drivers.safety.config import SafetyConfig
from svm_robot.drivers.safety.pace import Pace
from svm_robot.drivers.safety.workspace import Workspace
from svm_robot.errors import ConfigError, UnsafeActionError

FloatArray = NDArray[np.float64]

REASONS = {
    "range": "to the end of a joint's range",
    "speed": "to the greatest speed or step",
    "workspace": "at the border of the workspace",
}
"""Why a target is changed -> the words for it."""


class Safety:
    """Clamps targets to joint ranges, to a greatest step, and to the workspace; refuses what is no number."""

    def __init__(
        self,
        config: SafetyConfig,
        joints: Sequence[str],
        limits: Mapping[str, tuple[float, float]],
        rate_hz: float,
        kinematics: Kinematics | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``limits``: joint key -> (lower, upper) in robot units; a joint without an entry has no range limit.

        ``kinematics``: for ``config.workspace``. ``tell`` takes one line when the workspace first stops a target.
        Raises ``ConfigError`` for a joint the robot does not have, an empty range, a speed or step that is not
        positive, and a workspace where nobody knows where the gripper is.
        """
        self.joints = tuple(joints)
        self.tell = tell
        self._check_names(config)
        if not rate_hz > 0:
            raise ConfigError(f"rate_hz must be above 0, got {rate_hz}")
        ranges = [self._range(joint, config, limits) for joint in self.joints]
        self.lower = np.array([low for low, _ in ranges])
        self.upper = np.array([high for _, high in ranges])
        speed = np.array([self._speed(joint, config) for joint in self.joints])
        self.max_step = np.minimum(speed / rate_hz, [self._step(joint, config) for joint in self.joints])
        """(J,) greatest step from one target to the next [robot units]."""
        self.pace = Pace(speed, 1 / rate_hz)
        self.workspace = Workspace(config.workspace, kinematics) if config.workspace else None
        self.changed: Counter[str] = Counter()
        """Why targets were changed (``REASONS``) -> how many of them."""
        self._told = False

    def restart(self) -> None:
        """A new episode: what was sent long ago limits nothing, and the workspace tells again."""
        self.pace.restart()
        self._told = False

    def limit(self, requested: ArrayLike, previous: ArrayLike, now_s: float | None = None) -> Applied:
        """What may be sent of ``requested`` (J,), coming from ``previous`` (J,): the last target, or the measured pose.

        ``now_s``: when; targets that follow each other faster than the control rate then share the speed limit.
        Raises ``UnsafeActionError`` for another shape or a value that is not finite; nothing may be sent then.
        """
        asked = self.checked(requested, "action")
        last = self.checked(previous, "measured position")
        step = self.max_step if now_s is None else np.minimum(self.max_step, self.pace.allowance(now_s))
        # Range first, step last: a joint found outside its range walks back in, it does not jump.
        inside = np.clip(asked, self.lower, self.upper)
        near = np.clip(inside, last - step, last + step)
        kept = near if self.workspace is None else self._in_workspace(last, near)
        sent = kept.astype(np.float32)
        if now_s is not None:
            self.pace.spend(np.abs(sent - last))
        with np.errstate(over="ignore"):
            clipped = bool(np.any(sent != asked.astype(np.float32)))
        if clipped:
            self._count(asked, inside, near, kept)
        return Applied(sent, clipped)

    def checked(self, values: ArrayLike, what: str) -> FloatArray:
        """(J,) finite numbers, or ``UnsafeActionError`` naming the joint."""
        array = _numbers(values)
        if array is None:
            raise UnsafeActionError(f"{what} is not a list of numbers: {values!r:.200}; nothing was sent")
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

    def told(self) -> list[str]:
        """How many targets were changed, and why; one line each."""
        return [f"{count} targets were cut {REASONS[reason]}" for reason, count in self.changed.items()]

    def _in_workspace(self, last: FloatArray, near: FloatArray) -> FloatArray:
        assert self.workspace is not None
        kept, why = self.workspace.restrict(last, near)
        if why and not self._told:
            self._told = True
            self.tell(f"workspace: {why}; the arm stays inside (told once an episode)")
        return kept

    def _count(self, asked: FloatArray, inside: FloatArray, near: FloatArray, kept: FloatArray) -> None:
        cut = {"range": asked != inside, "speed": inside != near, "workspace": near != kept}
        self.changed.update(reason for reason, where in cut.items() if np.any(where))

    def _check_names(self, config: SafetyConfig) -> None:
        for option in ("max_speed_by_joint", "max_step_by_joint", "limits"):
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
        lower, upper = _inward(low, np.inf), _inward(high, -np.inf)
        if not lower < upper:
            raise ConfigError(f"safety.limits of {joint} leave no room: lower {low} is not below upper {high}")
        return lower, upper

    def _speed(self, joint: str, config: SafetyConfig) -> float:
        common = config.max_gripper_speed if joint == "gripper.pos" else config.max_speed
        speed = config.max_speed_by_joint.get(joint, common)
        if not speed > 0:
            raise ConfigError(f"the greatest speed of {joint} must be above 0, got {speed}")
        return float(speed)

    def _step(self, joint: str, config: SafetyConfig) -> float:
        step = config.max_step_by_joint.get(joint, math.inf if config.max_step is None else config.max_step)
        if not step > 0:
            raise ConfigError(f"the greatest step of {joint} must be above 0, got {step}")
        return float(step)


def _numbers(values: ArrayLike) -> FloatArray | None:
    """Real numbers as an array; None for what is none: text, complex numbers, a tensor that keeps its gradient."""
    try:
        with np.errstate(over="ignore"):
            array = np.asarray(values)
            return array.astype(np.float64) if array.dtype.kind in "fiuO" else None
    except (TypeError, ValueError, RuntimeError):
        return None


def _inward(end: float, towards: float) -> float:
    """The end of a range as a 32-bit number that does not lie outside of it: targets travel as such."""
    near = float(np.float32(end))
    outside = near < end if towards > 0 else near > end
    return float(np.nextafter(np.float32(end), np.float32(towards))) if outside else near
