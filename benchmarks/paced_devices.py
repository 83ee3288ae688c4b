"""Devices that deliver at their own pace, for benchmarks of real-time loops: two cameras on threads, six joints."""

import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
from lerobot.teleoperators import Teleoperator
from numpy.typing import NDArray

ImageArray = NDArray[np.uint8]

SIZE = (480, 640)
JOINTS = tuple(f"joint_{number}.pos" for number in range(6))
ROLES = ("front", "wrist")
SCENES = 90
"""Different pictures of each camera; they come again and again."""


def scene(number: int, height: int = SIZE[0], width: int = SIZE[1]) -> ImageArray:
    """A gradient, a small saturated object that moves, and sensor noise of sigma 4."""
    rng = np.random.default_rng(number)
    ramp = np.linspace(40, 200, width)[None, :, None] * np.linspace(0.5, 1, height)[:, None, None] * np.ones(3)
    left = (7 * number) % (width - width // 6)
    ramp[height // 3 : height // 2, left : left + width // 6] = (210, 40, 30)
    return np.clip(ramp + rng.normal(0, 4, ramp.shape), 0, 255).astype(np.uint8)


class PacedCamera:
    """Delivers like LeRobot's camera classes: a thread puts each new picture and its time under a lock."""

    def __init__(self, role: str, pictures: list[ImageArray], fps: float) -> None:
        self.role, self.pictures, self.fps = role, pictures, fps
        self.config = SimpleNamespace(type="paced", role=role)
        self.frame_lock = threading.Lock()
        self.latest_frame: ImageArray | None = None
        self.latest_timestamp: float | None = None
        self.delivered = 0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to deliver; the first picture is there when this returns."""
        self._stop.clear()
        self._deliver()
        self._thread = threading.Thread(target=self._run, name=f"camera {self.role}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Deliver no more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def read_latest(self) -> ImageArray:
        """The newest picture, at once."""
        with self.frame_lock:
            assert self.latest_frame is not None
            return self.latest_frame

    def _run(self) -> None:
        due = time.perf_counter()
        while not self._stop.is_set():
            due += 1 / self.fps
            time.sleep(max(0.0, due - time.perf_counter()))
            self._deliver()

    def _deliver(self) -> None:
        picture = self.pictures[self.delivered % len(self.pictures)].copy()  # a driver converts the colours here
        with self.frame_lock:
            self.latest_frame, self.latest_timestamp = picture, time.perf_counter()
        self.delivered += 1


class PacedRobot:
    """Six joints that are where they were sent. Notes when it is read, and how long the devices took."""

    name = robot_type = "paced"

    def __init__(self, fps: float) -> None:
        pictures = [scene(number) for number in range(SCENES)]
        self.cameras = {role: PacedCamera(role, pictures, fps) for role in ROLES}
        self.action_features: dict[str, Any] = dict.fromkeys(JOINTS, float)
        self.observation_features = {**self.action_features, **dict.fromkeys(ROLES, (*SIZE, 3))}
        self.position = dict.fromkeys(JOINTS, 0.0)
        self.ticks: list[float] = []
        """When each reading began [s]."""
        self.device_s = 0.0
        """Time spent in this class [s]."""

    def get_observation(self) -> dict[str, Any]:
        """Joints and newest pictures."""
        begun = time.perf_counter()
        self.ticks.append(begun)
        seen = {**self.position, **{role: camera.read_latest() for role, camera in self.cameras.items()}}
        self.device_s += time.perf_counter() - begun
        return seen

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Take all targets."""
        begun = time.perf_counter()
        self.position = {joint: float(action[joint]) for joint in JOINTS}
        self.device_s += time.perf_counter() - begun
        return action


class PacedLeader(Teleoperator):  # type: ignore[misc]
    """A leader arm that somebody moves smoothly."""

    name = "paced"
    feedback_features: dict[str, type] = {}  # noqa: RUF012
    is_connected = is_calibrated = True

    def __init__(self) -> None:
        self.count, self.config = 0, SimpleNamespace()

    @property
    def action_features(self) -> dict[str, type]:
        """Joint keys -> float."""
        return dict.fromkeys(JOINTS, float)

    def get_action(self) -> dict[str, float]:
        """Where it stands now."""
        self.count += 1
        return {joint: 20 * float(np.sin(0.05 * self.count + place)) for place, joint in enumerate(JOINTS)}

    def connect(self, calibrate: bool = True) -> None:
        """Nothing to do."""

    def calibrate(self) -> None:
        """Nothing to do."""

    def configure(self) -> None:
        """Nothing to do."""

    def send_feedback(self, feedback: dict[str, float]) -> None:
        """Nothing to do."""

    def disconnect(self) -> None:
        """Nothing to do."""
