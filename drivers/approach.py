"""The way to a pose: straight in joint space, at limited speed, tick by tick, through the safety limits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.clock import Clock
from svm_robot.drivers.link import RobotLink
from svm_robot.drivers.safety import Safety
from svm_robot.drivers.ticker import Ticker
from svm_robot.errors import ConfigError, DeviceError

FloatArray = NDArray[np.float32]

ARRIVED = 3.0
"""A joint this near to its place has arrived [robot units]."""
SETTLE_S = 2.0
"""How long the arm may take to arrive after the last target of the way."""


@dataclass(frozen=True)
class StartPose:
    """A pose, and how the arm gets there: where episodes start, or where the arm is parked."""

    pose: Mapping[str, float] = field(default_factory=dict)
    """Joint key -> position; joints that are not named stay where they are."""
    speed: float = 30.0
    """Greatest speed of any joint on the way [robot units/s]; where the safety limits allow less, they win."""

    def check(self, option: str, safety: Safety) -> None:
        """Raise ``ConfigError`` when ``option`` of the rig file names a joint that is none, or a place that is none."""
        unknown = sorted(set(self.pose) - set(safety.joints))
        if unknown:
            raise ConfigError(
                f"{option} names {', '.join(unknown)}; the joints of this robot are {', '.join(safety.joints)}"
            )
        for joint, position in self.pose.items():
            if not np.isfinite(position):
                raise ConfigError(f"{option} of {joint} is {position}; it must be a number")
        box = safety.workspace
        if box is not None and set(self.pose) >= {safety.joints[i] for i in np.flatnonzero(box.kinematics.moves)}:
            goal = self.goal(np.zeros(len(safety.joints), np.float32), safety)
            if box.outside(goal.astype(np.float64)) > 0:
                raise ConfigError(f"{option} lies outside of safety.workspace: {box.why(goal.astype(np.float64))}")

    def goal(self, here: FloatArray, safety: Safety) -> FloatArray:
        """(J,) the pose, inside the joint ranges; (J,) ``here`` for joints that are not named."""
        goal = np.array([self.pose.get(joint, now) for joint, now in zip(safety.joints, here, strict=True)])
        return np.clip(goal, safety.lower, safety.upper).astype(np.float32)


def walk(
    link: RobotLink,
    safety: Safety,
    way: StartPose,
    rate_hz: float,
    clock: Clock,
    what: str,
    give_up: Callable[[], bool] | None = None,
) -> None:
    """Go there; blocks until the arm has arrived. ``give_up``: on the way of a shutdown, says when to break it off.

    Raises ``DeviceError`` naming the joint that does not arrive at ``what``.
    """
    ticker = Ticker(rate_hz, clock)
    begin = previous = link.positions()
    goal = way.goal(begin, safety)
    stride = np.minimum(way.speed * ticker.period_s, safety.max_step)
    count = int(np.ceil(np.max(np.abs(goal - begin) / stride)))
    for index in range(1, count + 1):
        ticker.wait()
        if give_up is not None and give_up():
            return
        step = safety.limit((begin + (goal - begin) * (index / count)).astype(np.float32), previous)
        previous = link.send(step.sent, stopping=give_up is not None)
    for _ in range(round(SETTLE_S / ticker.period_s) + 1):
        ticker.wait()
        away = np.abs(link.positions() - goal)
        if np.all(away <= ARRIVED) or (give_up is not None and give_up()):
            return
    worst = int(np.argmax(away))
    outside = " the workspace box in its way," if safety.workspace and np.any(previous != goal) else ""
    raise DeviceError(
        f"{safety.joints[worst]} stopped {away[worst]:.1f} away from its {what} position; "
        f"is{outside} something in its way, or its motor off?"
    )
