"""What cameras really deliver, measured over a few pictures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.camera_frames import timed_frame
from svm_robot.drivers.cameras.faults import CameraError
from svm_robot.drivers.cameras.watch import noise_share, thinned
from svm_robot.drivers.clock import Clock

ImageArray = NDArray[np.uint8]

FRAMES = 12
LOOK_EVERY_S = 0.002
SLOWEST_HZ = 2.0
"""A camera that is slower than this is not waited for."""
ANY_AGE_MS = 1e6


@dataclass(frozen=True)
class Measured:
    """What came."""

    frames: int
    fps: float
    """Pictures per second; 0 when fewer than three came."""
    noise: float
    """See ``noise_share``."""
    picture: ImageArray | None
    """(H, W, 3) the newest; None when none came."""


@dataclass
class _Series:
    times_s: list[float] = field(default_factory=list)
    thin: list[ImageArray] = field(default_factory=list)
    newest: ImageArray | None = None

    def add(self, picture: ImageArray, time_s: float) -> None:
        if not self.times_s or time_s > self.times_s[-1]:
            self.times_s.append(time_s)
            self.thin.append(thinned(picture))
            self.newest = picture

    def result(self) -> Measured:
        # the middle interval: one that we slept through does not count as the camera's
        gap_s = float(np.median(np.diff(self.times_s))) if len(self.times_s) > 2 else 0.0
        return Measured(len(self.times_s), 1 / gap_s if gap_s else 0.0, noise_share(self.thin), self.newest)


def _look(camera: Any, series: _Series, clock: Clock, give_up_s: float) -> None:
    """Take what is newest. A camera without warm-up may have nothing yet; that is waited for."""
    try:
        picture = camera.read_latest(max_age_ms=ANY_AGE_MS)
    except CameraError:
        if series.times_s or clock.now_s() + LOOK_EVERY_S >= give_up_s:
            raise
    else:
        series.add(*timed_frame(camera, picture, clock.now_s()))


def measure(cameras: Mapping[str, Any], clock: Clock, frames: int = FRAMES) -> dict[str, Measured]:
    """Watch all connected cameras at once until each has given ``frames`` new pictures, or has had the time for it."""
    series = {role: _Series() for role in cameras}
    give_up_s = clock.now_s() + frames / SLOWEST_HZ
    while any(len(one.times_s) < frames for one in series.values()) and clock.now_s() < give_up_s:
        for role, camera in cameras.items():
            if len(series[role].times_s) < frames:
                _look(camera, series[role], clock, give_up_s)
        clock.sleep_until_s(clock.now_s() + LOOK_EVERY_S)
    return {role: one.result() for role, one in series.items()}
