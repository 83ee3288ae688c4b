"""The toy world of the torture: all that an episode holds follows from its seed, so that it can be told afterwards."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from svm_robot.recording.encoder import Encoding
from svm_robot.recording.stills import jpeg
from svm_robot.rollout.env import Observation

KINDS = ("video", "png", "jpeg")
CAMERAS: dict[int, dict[str, tuple[int, int]]] = {
    1: {"front": (32, 32)},
    2: {"front": (32, 48), "wrist": (33, 47)},
    3: {"front": (32, 32), "wrist": (48, 32), "top": (24, 40)},
}
"""Number of cameras -> their sizes."""

Picture = NDArray[np.uint8]


@dataclass(frozen=True)
class FilmSpec:
    """A rig with two joints."""

    cameras: Mapping[str, tuple[int, int]]
    robot_type: str = "torture"
    joints: tuple[str, ...] = ("a.pos", "b.pos")
    rate_hz: float = 10.0
    units: tuple[str, ...] = ("deg", "deg")
    robot_id: str = ""
    calibration: str = ""
    camera_identities: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """An observation."""

    state: NDArray[np.float32]
    state_time_s: float
    frames: Mapping[str, Picture]
    frame_times_s: Mapping[str, float]


@dataclass(frozen=True)
class Sent:
    """What became of an action."""

    sent: NDArray[np.float32]
    clipped: bool = False


def length(seed: int) -> int:
    """Steps of the episode with this seed."""
    return 4 + seed % 9


def outcome(seed: int) -> str:
    """What is said of it."""
    return ("success", "failure", "unsure")[seed % 3]


def state(seed: int, step: int) -> NDArray[np.float32]:
    """Joints at a step."""
    return np.array([step, seed % 1000], np.float32)


@cache
def picture(seed: int, step: int, role: str, size: tuple[int, int]) -> Picture:
    """(H, W, 3) a coarse pattern with noise over it."""
    rng = np.random.default_rng([seed, step, *role.encode()])
    coarse = rng.integers(0, 200, (-(-size[0] // 8), -(-size[1] // 8), 3))
    smooth = coarse.repeat(8, 0).repeat(8, 1)[: size[0], : size[1]]
    return (smooth + rng.integers(0, 12, smooth.shape)).astype(np.uint8)


def kept(frame: Picture, pictures: str) -> Picture:
    """What must come back of a frame, sample by sample."""
    if pictures == "png":
        return frame
    if pictures == "jpeg":
        return np.asarray(Image.open(io.BytesIO(jpeg(Encoding().jpeg_quality)(frame))).convert("RGB"))
    there = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24").reformat(format=Encoding().pix_fmt)
    return np.asarray(there.reformat(format="rgb24").to_ndarray(), np.uint8)


class Film:
    """Environment, policy and operator in one: it plays the episode of its seed."""

    source = "script"
    latent = None

    def __init__(self, cameras: int) -> None:
        self.spec = FilmSpec(CAMERAS[cameras])
        self.seed, self.step = 0, -1

    def reset(self, seed: int | None = None) -> None:
        """Begin the episode of a seed."""
        self.seed, self.step = seed or 0, -1

    def observe(self, frames: bool = True) -> Seen:
        """The next step."""
        self.step += 1
        shown = {role: picture(self.seed, self.step, role, size) for role, size in self.spec.cameras.items()}
        time_s = self.step / self.spec.rate_hz
        return Seen(state(self.seed, self.step), time_s, shown, dict.fromkeys(shown, time_s))

    def apply(self, action: NDArray[np.float32]) -> Sent:
        """Nothing moves."""
        return Sent(action)

    def act(self, observation: Observation) -> NDArray[np.float32]:
        """(1, 2) one step on."""
        return observation.state[None] + 1

    def rest(self, error: BaseException | None = None) -> None:
        """Nothing moves anyway."""

    def close(self) -> None:
        """Nothing to close."""

    def begin(self, episode: int) -> None:
        """Nobody resets a scene."""

    def poll(self, step: Any) -> str | None:
        """The outcome at the last step."""
        return outcome(self.seed) if step.index + 1 >= length(self.seed) else None

    def outcome(self) -> str:
        """At a time limit that never comes."""
        return outcome(self.seed)

    def wants_to_stop(self) -> bool:
        """Never."""
        return False
