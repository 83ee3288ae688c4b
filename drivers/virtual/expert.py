"""The scripted operator of the virtual robot: picks and places from the true poses, as well or as badly as asked.

Its mistakes come in clear kinds (it reaches too far, or closes too high) rather than as one wide blur, so that a policy
cloned from it knows a good way and a bad way, and finetuning has something to choose between.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.joints import to_units
from svm_robot.drivers.virtual.kinematics import inverse, roll_for_yaw
from svm_robot.errors import ConfigError

FloatArray = NDArray[np.float32]

_PITCH = 1.45
_HOVER, _GRASP, _CARRY, _RELEASE = 0.07, 0.012, 0.115, 0.025
"""Heights of the grip point over the table [m]."""
_OPEN_RAD, _CLOSED_RAD = 0.75, -0.25
_LONGEST_TICK_S = 0.25
"""After a pause of the loop the hand goes on where it was, it does not jump ahead."""
_TREMOR_TIME_S = 0.3


class Seer(Protocol):
    """Whoever knows the true poses: the world itself, or the cell that runs it."""

    def privileged(self) -> dict[str, Any]:
        """As ``World.privileged``."""


class Timed(Protocol):
    """The one thing the script reads from an observation."""

    @property
    def state_time_s(self) -> float:
        """When the joints were read [s]."""


@dataclass(frozen=True)
class Clumsiness:
    """How badly the operator works. All zero: perfect."""

    aim_m: float = 0.005
    """Standard deviation of where it thinks a cube is, in x and in y [m]."""
    too_far: float = 0.35
    """Chance of an episode in which it reaches 3 cm too far."""
    too_high: float = 0.17
    """Chance of an episode in which it closes above the cube (when it does not reach too far)."""
    tremor_m: float = 0.003
    """Standard deviation of the shaking hand [m]."""
    speed: float = 0.2
    """Spread of the hand's speed from episode to episode (log-normal)."""

    @staticmethod
    def scaled(by: float) -> "Clumsiness":
        """Nothing at 0, the usual operator at 1, worse above (chances stop at 1)."""
        if not 0 <= by < float("inf"):
            raise ConfigError(f"clumsiness must be a number from 0 (perfect) up, got {by}")
        usual = Clumsiness()
        return Clumsiness(
            usual.aim_m * by,
            min(1.0, usual.too_far * by),
            min(1.0, usual.too_high * by),
            usual.tremor_m * by,
            usual.speed * by,
        )


@dataclass(frozen=True)
class _Waypoint:
    """Go there in a straight line, then stay for a while."""

    point: tuple[float, float, float]
    gripper_rad: float
    roll: float
    stay_s: float = 0.0


class ScriptedExpert:
    """Acts like a policy, one target per step. It plans at the first step of an episode and then looks no more."""

    source = "script"
    latent: FloatArray | None = None
    speed_m_s = 0.16

    def __init__(self, world: Seer, clumsiness: float | Clumsiness = 1.0, seed: int = 0) -> None:
        self.world = world
        self.clumsiness = clumsiness if isinstance(clumsiness, Clumsiness) else Clumsiness.scaled(float(clumsiness))
        self.rng = _own_rng(seed)
        self.plan: list[_Waypoint] = []
        self.hand: NDArray[np.float64] = np.zeros(3)
        self.tremor: NDArray[np.float64] = np.zeros(3)
        self.speed = self.speed_m_s
        self.arrived_s = 0.0
        self.last_s: float | None = None

    def reset(self, seed: int | None = None) -> None:
        """Forget the last episode; the next ``act`` makes a new plan. Same seed, same mistakes."""
        if seed is not None:
            self.rng = _own_rng(seed)
        self.last_s = None

    def act(self, observation: Timed) -> FloatArray:
        """(1, 6) absolute joint targets in robot units for the next control step."""
        now = observation.state_time_s
        if self.last_s is None:
            self._begin()
            self.last_s = now
        self._move(min(max(now - self.last_s, 0.0), _LONGEST_TICK_S))
        self.last_s = now
        goal = self.plan[0]
        arm = inverse(tuple(self.hand + self.tremor), _PITCH, goal.roll)
        return to_units(np.append(arm, goal.gripper_rad))[None]

    def _begin(self) -> None:
        truth = self.world.privileged()
        self.hand = np.array(truth["grip"])
        self.tremor = np.zeros(3)
        self.arrived_s = 0.0
        self.speed = self.speed_m_s * float(np.exp(self.rng.normal(0, self.clumsiness.speed)))
        far, high = self.rng.random(2)
        names = list(truth["cubes"])
        spoiled = names[int(self.rng.integers(len(names)))]  # one mistake an episode, however many cubes
        self.plan = []
        for name in names:
            aim = self.rng.normal(0, self.clumsiness.aim_m, 2)
            too_high = 0.0
            if name == spoiled and far < self.clumsiness.too_far:
                aim += (0.03, 0.0)
            elif name == spoiled and high < self.clumsiness.too_high:
                too_high = 0.03
            self.plan += _pick_and_place(truth["cubes"][name], truth["goals"], aim, too_high)

    def _move(self, seconds: float) -> None:
        """Move the hand for ``seconds`` along the plan; the last waypoint is held for ever."""
        if seconds == 0:
            return
        keep = np.exp(-seconds / _TREMOR_TIME_S)
        shake = self.rng.normal(0, self.clumsiness.tremor_m, 3)
        self.tremor = keep * self.tremor + np.sqrt(1 - keep**2) * shake
        goal = self.plan[0]
        way = np.array(goal.point) - self.hand
        distance, stride = float(np.linalg.norm(way)), self.speed * seconds
        if distance > stride:
            self.hand = self.hand + way * (stride / distance)
            return
        self.hand = np.array(goal.point)
        self.arrived_s += seconds
        if self.arrived_s >= goal.stay_s and len(self.plan) > 1:
            self.plan.pop(0)
            self.arrived_s = 0.0


def _own_rng(seed: int) -> np.random.Generator:
    """A stream apart from the world's, which is given the same seed: mistakes must not depend on where the cube is."""
    return np.random.default_rng([seed, 0x5C819])


def _pick_and_place(
    cube: Mapping[str, Any], goals: Mapping[str, Any], aim: NDArray[np.float64], too_high: float
) -> list[_Waypoint]:
    """The way of one cube. ``aim``: error in x and y [m]; ``too_high``: how far above the grasp it closes [m]."""
    x, y = np.array(cube["position"][:2]) + aim
    roll = roll_for_yaw(float(np.arctan2(y, x)), cube["yaw"])
    grasp = (x, y, _GRASP + too_high)
    way = [
        _Waypoint((x, y, _HOVER), _OPEN_RAD, roll),
        _Waypoint(grasp, _OPEN_RAD, roll, stay_s=0.15),
        _Waypoint(grasp, _CLOSED_RAD, roll, stay_s=0.4),
        _Waypoint((x, y, _CARRY), _CLOSED_RAD, roll),
    ]
    if cube["goal"] is not None:
        to_x, to_y = goals[cube["goal"]]
        way += [
            _Waypoint((to_x, to_y, _CARRY), _CLOSED_RAD, roll),
            _Waypoint((to_x, to_y, _RELEASE), _CLOSED_RAD, roll, stay_s=0.1),
            _Waypoint((to_x, to_y, _RELEASE), _OPEN_RAD, roll, stay_s=0.3),
            _Waypoint((to_x, to_y, _CARRY), _OPEN_RAD, roll),
        ]
    return way
