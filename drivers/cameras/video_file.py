"""A video file behind LeRobot's camera interface: paced, deterministic, its frames numbered.

Picture ``k`` is captured ``k / fps`` after ``connect``, whoever asks and how often. Nothing runs in the background:
what is due is decoded when it is asked for.
"""

from typing import Any

import av
import numpy as np
from lerobot.cameras import Camera
from lerobot.utils.errors import DeviceAlreadyConnectedError, DeviceNotConnectedError
from numpy.typing import NDArray

from svm_robot.drivers.cameras.config_video_file import VideoFileCameraConfig
from svm_robot.drivers.clock import Clock, MonotonicClock
from svm_robot.errors import ConfigError, DeviceError, StaleError

ImageArray = NDArray[np.uint8]

SKIP_FRAMES = 60
"""Farther behind than this, the file is entered again at a key frame instead of decoded through."""


class VideoFileCamera(Camera):
    """Plays one file."""

    def __init__(self, config: VideoFileCameraConfig, clock: Clock | None = None) -> None:
        super().__init__(config)
        self.config = config
        self.clock = clock or MonotonicClock()
        self.latest_timestamp: float | None = None
        """When the picture that was returned last was due [s, perf_counter], as LeRobot's cameras call it."""
        self.latest_number: int | None = None
        """Its number, from 0 since ``connect``, counted on through loops."""
        self._film: _Film | None = None
        self._start_s = 0.0

    def __str__(self) -> str:
        return f"video file {self.config.path}"

    @property
    def is_connected(self) -> bool:
        """True between ``connect`` and ``disconnect``."""
        return self._film is not None

    @staticmethod
    def find_cameras() -> list[dict[str, Any]]:
        """None: files are named, not searched for."""
        return []

    def connect(self, warmup: bool = True) -> None:
        """Open the file and start its clock.

        Raises ``DeviceError`` when it cannot be read, ``ConfigError`` when its pictures have another size.
        """
        if self._film is not None:
            raise DeviceAlreadyConnectedError(f"{self} is already connected")
        film = _Film(str(self.config.path))
        if (self.config.height or film.height, self.config.width or film.width) != (film.height, film.width):
            film.close()
            asked = f"{self.config.width}x{self.config.height}"
            raise ConfigError(f"{self} has {film.width}x{film.height} pixels, the configuration says {asked}")
        self.width, self.height, self.fps = film.width, film.height, self.config.fps or round(film.rate)
        self._film, self._start_s = film, self.clock.now_s()
        self.latest_timestamp = self.latest_number = None

    def read(self) -> ImageArray:
        """(H, W, 3) the next picture that was not returned yet."""
        return self.async_read(timeout_ms=1000)

    def async_read(self, timeout_ms: float = 200) -> ImageArray:
        """(H, W, 3) the newest picture not returned yet; waits for one. Raises ``StaleError`` (a ``TimeoutError``)."""
        film, given = self._open_film(), -1 if self.latest_number is None else self.latest_number
        give_up_s = self.clock.now_s() + timeout_ms / 1000
        while self._due(film) <= given:
            next_s = self._time_of(given + 1)
            if self._has_ended(film) or next_s > give_up_s:
                raise StaleError(f"{self} has no new picture within {timeout_ms:g} ms; {self._state(film)}")
            self.clock.sleep_until_s(next_s)
        return self._take(film)

    def read_latest(self, max_age_ms: float = 500) -> ImageArray:
        """(H, W, 3) the picture that is due now. Raises ``StaleError`` (a ``TimeoutError``) when it is too old."""
        film = self._open_film()
        picture = self._take(film)
        assert self.latest_timestamp is not None
        age_ms = 1000 * (self.clock.now_s() - self.latest_timestamp)
        if age_ms > max_age_ms:
            raise StaleError(
                f"{self}: newest picture is {age_ms:.0f} ms old, {max_age_ms:g} allowed; {self._state(film)}"
            )
        return picture

    def disconnect(self) -> None:
        """Close the file; may be called twice."""
        if self._film is not None:
            self._film.close()
        self._film = None

    def _open_film(self) -> "_Film":
        if self._film is None:
            raise DeviceNotConnectedError(f"{self} is not connected")
        return self._film

    def _time_of(self, number: int) -> float:
        assert self.fps is not None
        return self._start_s + number / self.fps

    def _due(self, film: "_Film") -> int:
        """Number of the picture that is due now."""
        assert self.fps is not None
        number = int((self.clock.now_s() - self._start_s) * self.fps + 1e-6)
        return number if self.config.loop else min(number, film.frames - 1)

    def _has_ended(self, film: "_Film") -> bool:
        return not self.config.loop and self._due(film) == film.frames - 1

    def _state(self, film: "_Film") -> str:
        return "the file has ended (loop: false)" if self._has_ended(film) else f"it plays at {self.fps} per second"

    def _take(self, film: "_Film") -> ImageArray:
        number = self._due(film)
        picture = film.picture(number % film.frames)
        self.latest_number, self.latest_timestamp = number, self._time_of(number)
        return picture


class _Film:
    """The pictures of a file by number; cheapest when they are asked for in their order."""

    def __init__(self, path: str) -> None:
        try:
            self._container = av.open(path)
            self._stream = self._container.streams.video[0]
            self._times = sorted(packet.pts for packet in self._container.demux(self._stream) if packet.pts is not None)
        except (OSError, av.FFmpegError, IndexError) as error:
            raise DeviceError(f"cannot play {path} as a camera: {error}") from error
        if not self._times:
            raise DeviceError(f"cannot play {path} as a camera: there is no picture in it")
        self.frames = len(self._times)
        self.width, self.height = self._stream.codec_context.width, self._stream.codec_context.height
        self.rate = float(self._stream.average_rate or 30)
        self._number = self.frames  # behind the end: the first request enters the file
        self._picture: ImageArray | None = None

    def picture(self, number: int) -> ImageArray:
        """(H, W, 3) RGB, the caller's own copy. Raises ``DeviceError`` for a file that is damaged there."""
        if self._picture is None or number < self._number or number > self._number + SKIP_FRAMES:
            self._container.seek(self._times[number], stream=self._stream)
            self._frames = self._container.decode(self._stream)
            self._number = -1
        try:
            while self._number < number:
                frame = next(self._frames)
                self._number = self._times.index(frame.pts)
                if self._number == number:
                    self._picture = frame.to_ndarray(format="rgb24")
        except (StopIteration, av.FFmpegError, ValueError) as error:
            raise DeviceError(f"{self._container.name}: picture {number} cannot be decoded ({error})") from error
        assert self._picture is not None
        return self._picture.copy()

    def close(self) -> None:
        self._container.close()
