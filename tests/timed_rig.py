"""A rig whose cameras deliver at rates of their own, all in simulated time: nothing here waits."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from clocks import FakeClock
from recordings import numbered

from svm_robot.drivers.rig_env import RigEnv
from svm_robot.drivers.safety import SafetyConfig

SIZE = (32, 32)


class TimedCamera:
    """Gives picture number n at time n / fps, with the number painted into it. ``fault`` bends (number, time)."""

    def __init__(self, clock: FakeClock, fps: float, latency_s: float = 0.005) -> None:
        self.clock, self.fps, self.latency_s = clock, fps, latency_s
        self.config = SimpleNamespace(type="timed", index_or_path=f"/dev/at{fps:g}fps")
        self.fault: Callable[[int, float], tuple[int, float]] = lambda number, time_s: (number, time_s)

    def newest(self) -> tuple[int, float]:
        """Number of the picture that is shown, and when it was taken [s]."""
        number = int((self.clock.time_s - self.latency_s) * self.fps + 1e-6)
        return self.fault(number, number / self.fps)

    @property
    def latest_timestamp(self) -> float:
        return self.newest()[1]

    def read_latest(self) -> Any:
        return numbered(self.newest()[0] % 16 * 16, *SIZE)  # a video keeps steps of 16 apart


class TimedRobot:
    """Two joints that go where they are told at once; reading them takes ``read_s``."""

    name = robot_type = "timed"
    id = "left bench"
    action_features: dict[str, Any] = dict.fromkeys(("a.pos", "b.pos"), float)

    def __init__(self, clock: FakeClock, fps: dict[str, float], read_s: float = 0.002) -> None:
        self.clock, self.read_s = clock, read_s
        self.cameras = {role: TimedCamera(clock, rate) for role, rate in fps.items()}
        self.observation_features = {**self.action_features, **dict.fromkeys(fps, (*SIZE, 3))}
        self.position = {"a.pos": 0.0, "b.pos": 0.0}
        self.sent: list[dict[str, float]] = []

    def get_observation(self) -> dict[str, Any]:
        self.clock.time_s += self.read_s
        return {**self.position, **{role: camera.read_latest() for role, camera in self.cameras.items()}}

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        self.sent.append(action)
        self.position.update(action)
        return action


class Walker:
    """Moves both joints by a degree at every step."""

    source = "script"
    latent = None

    def reset(self, seed: int | None = None) -> None: ...

    def act(self, observation: Any) -> Any:
        return (observation.state + np.float32(1))[None]


class Patient:
    """Never stops an episode; it was a success."""

    def __init__(self) -> None:
        self.begun: list[int] = []

    def begin(self, episode: int) -> None:
        self.begun.append(episode)

    def poll(self, step: object) -> str | None:
        return None

    def outcome(self) -> str:
        return "success"

    def wants_to_stop(self) -> bool:
        return False


def timed_rig(
    fps: dict[str, float], rate_hz: float = 30.0, max_frame_age_s: float = 0.2, read_s: float = 0.002
) -> tuple[RigEnv, TimedRobot, FakeClock]:
    """A rig with cameras at these rates, its robot and its clock."""
    clock = FakeClock()
    robot = TimedRobot(clock, fps, read_s)
    rig = RigEnv(
        robot,
        rate_hz=rate_hz,
        clock=clock,
        safety=SafetyConfig(max_speed=1000.0),
        limits=dict.fromkeys(robot.action_features, (-1000.0, 1000.0)),
        max_frame_age_s=max_frame_age_s,
    )
    return rig, robot, clock
