"""Small, exact stand-ins for the seams: a two-joint world without physics, used where the world does not matter."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from svm_robot.errors import UnsafeActionError

FloatArray = NDArray[np.float32]
ImageArray = NDArray[np.uint8]


@dataclass(frozen=True)
class ToySpec:
    robot_type: str = "toy"
    joints: tuple[str, ...] = ("a.pos", "b.pos")
    cameras: Mapping[str, tuple[int, int]] = field(default_factory=lambda: {"front": (32, 32), "wrist": (32, 32)})
    rate_hz: float = 10.0
    units: tuple[str, ...] = ()
    robot_id: str = ""
    calibration: str = ""
    camera_identities: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ToyObservation:
    state: FloatArray
    state_time_s: float
    frames: Mapping[str, ImageArray]
    frame_times_s: Mapping[str, float]


@dataclass(frozen=True)
class ToyApplied:
    sent: FloatArray
    clipped: bool


class ToyEnv:
    """Joints move halfway to their target each tick; success when both are within 5 of 50. Pictures show the joints."""

    def __init__(self, spec: ToySpec | None = None) -> None:
        self.spec = spec or ToySpec()
        self.closed = 0
        self.reset()

    def reset(self, seed: int | None = None) -> None:
        rng = np.random.default_rng(seed)
        self.q = rng.uniform(-20, 20, len(self.spec.joints)).astype(np.float32)
        self.target = self.q.copy()
        self.time_s, self.fresh = 0.0, True

    def observe(self, frames: bool = True) -> ToyObservation:
        if not self.fresh:
            self.time_s += 1 / self.spec.rate_hz
            self.q = (self.q + self.target) / 2
        self.fresh = False
        pictures = {role: self.picture(*size) for role, size in self.spec.cameras.items()} if frames else {}
        return ToyObservation(self.q.copy(), self.time_s, pictures, dict.fromkeys(pictures, self.time_s))

    def picture(self, height: int, width: int) -> ImageArray:
        image = np.full((height, width, 3), 30, np.uint8)
        row, column = ((self.q[:2] + 100) / 200 * (height - 1)).astype(int).clip(0, height - 1)
        image[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3] = (220, 60, 40)
        return image

    def apply(self, action: FloatArray) -> ToyApplied:
        if np.shape(action) != self.target.shape or not np.isfinite(action).all():
            raise UnsafeActionError(f"expected {self.target.shape} finite targets, got {action}; nothing was sent")
        sent = np.clip(action, -100, 100).astype(np.float32)
        self.target = sent
        return ToyApplied(sent, bool(np.any(sent != action)))

    def succeeded(self) -> bool:
        return bool(np.all(np.abs(self.q - 50) < 5))

    def rest(self, error: BaseException | None = None) -> None: ...

    def close(self) -> None:
        self.closed += 1


class ToyPolicy:
    """Walks towards 50 (or towards -50 when ``wrong``), in chunks, with a two-number latent."""

    source = "policy"

    def __init__(self, chunk: int = 2, wrong: bool = False) -> None:
        self.chunk, self.goal = chunk, -50.0 if wrong else 50.0
        self.latent: FloatArray | None = None

    def reset(self, seed: int | None = None) -> None:
        self.rng = np.random.default_rng(seed)
        self.latent = None

    def act(self, observation: ToyObservation) -> FloatArray:
        self.latent = self.rng.normal(size=2).astype(np.float32)
        step = np.clip(self.goal - observation.state, -25, 25)
        return np.stack([observation.state + step] * self.chunk).astype(np.float32)


class ToyOperator:
    """Judges by the toy world; ``failure`` at the time limit."""

    def __init__(self, env: ToyEnv) -> None:
        self.env = env

    def begin(self, episode: int) -> None: ...

    def poll(self, step: object) -> str | None:
        return "success" if self.env.succeeded() else None

    def outcome(self) -> str:
        return "success" if self.env.succeeded() else "failure"

    def wants_to_stop(self) -> bool:
        return False
