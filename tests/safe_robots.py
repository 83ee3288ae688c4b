"""A robot that writes down everything that reaches it, and a clock that is late when it is told to."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from svm_robot.drivers.rig_env import RigEnv
from svm_robot.drivers.safety import SafetyConfig

JOINTS = ("a.pos", "b.pos", "gripper.pos")
LIMITS = {"a.pos": (-90.0, 90.0), "b.pos": (-45.5, 30.3), "gripper.pos": (0.0, 100.0)}


class LateClock:
    """Time passes when somebody sleeps; ``late_s`` says how late each sleep ends."""

    def __init__(self) -> None:
        self.time_s = 100.0
        self.late_s: Callable[[], float] = lambda: 0.0
        self.passes: Callable[[], None] = lambda: None

    def now_s(self) -> float:
        return self.time_s

    def sleep_until_s(self, moment_s: float) -> None:
        self.time_s = max(self.time_s, moment_s + self.late_s())
        self.passes()


class LoggedBus:
    """Motors without a wire."""

    def __init__(self, robot: "LoggedRobot") -> None:
        self.robot = robot
        self.motors = {joint.removesuffix(".pos"): SimpleNamespace(model="none", norm_mode=None) for joint in JOINTS}
        self.is_connected = True

    def sync_read(self, name: str, motors: list[str], normalize: bool = True) -> dict[str, float]:
        if name != "Present_Position":
            return {motor: self.robot.registers[name][motor] for motor in motors}
        return {motor: self.robot.position[f"{motor}.pos"] for motor in motors}

    def disable_torque(self, motor: str, num_retry: int = 0) -> None:
        self.robot.log.append(("off", motor))

    def disconnect(self, disable_torque: bool = True) -> None:
        self.is_connected = False


class LoggedRobot:
    """Goes where it is told, by at most ``pace`` units each time that somebody waits."""

    name = robot_type = "logged"
    action_features: dict[str, Any] = dict.fromkeys(JOINTS, float)
    observation_features = action_features

    def __init__(self, clock: LateClock) -> None:
        self.clock, self.config = clock, SimpleNamespace()
        self.cameras: dict[str, Any] = {}
        self.position = {"a.pos": 10.0, "b.pos": 0.0, "gripper.pos": 50.0}
        self.goal = dict(self.position)
        self.pace = float("inf")
        self.log: list[tuple[str, Any]] = []
        self.times_s: list[float] = []
        self.registers: dict[str, dict[str, int]] = {}
        self.bus = LoggedBus(self)
        clock.passes = self.advance

    @property
    def is_connected(self) -> bool:
        return self.bus.is_connected

    @property
    def sent(self) -> np.ndarray:
        """(N, J) all targets."""
        return np.array([[row[joint] for joint in JOINTS] for what, row in self.log if what == "send"])

    def advance(self) -> None:
        for joint, goal in self.goal.items():
            self.position[joint] += float(np.clip(goal - self.position[joint], -self.pace, self.pace))

    def get_observation(self) -> dict[str, Any]:
        return dict(self.position)

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        self.log.append(("send", action))
        self.times_s.append(self.clock.time_s)
        self.goal.update(action)
        return action

    def disconnect(self) -> None:
        self.bus.disconnect()


def logged_rig(safety: SafetyConfig | None = None, rate_hz: float = 10.0, **more: Any) -> tuple[RigEnv, LoggedRobot]:
    """A rig on it."""
    clock = LateClock()
    robot = LoggedRobot(clock)
    settings: dict[str, Any] = {"safety": safety or SafetyConfig(), "limits": LIMITS, "max_frame_age_s": 0.2, **more}
    return RigEnv(robot, rate_hz=rate_hz, clock=clock, **settings), robot
