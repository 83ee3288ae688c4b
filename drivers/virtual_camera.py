"""A camera of the virtual robot behind LeRobot's camera interface."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from lerobot.cameras import Camera
from lerobot.utils.errors import DeviceNotConnectedError
from numpy.typing import NDArray

from svm_robot.drivers.config_virtual_camera import VirtualCameraConfig
from svm_robot.drivers.virtual.frames import Frame, FrameReader
from svm_robot.errors import ConfigError, DeviceError, StaleError

POLL_S = 0.001


class VirtualCamera(Camera):
    """Reads the shared memory that a running cell fills. Every frame comes with its true capture time."""

    def __init__(self, config: VirtualCameraConfig) -> None:
        super().__init__(config)
        self.config = config
        self.latest_timestamp: float | None = None
        """When the frame that was returned last had been captured [s, perf_counter], as LeRobot's cameras call it."""
        self.latest_number: int | None = None
        """Number of its exposure, which stands still when the camera repeats a picture."""
        self._reader: FrameReader | None = None
        self._returned = 0

    def __str__(self) -> str:
        return f"virtual camera '{self.config.role}'"

    @property
    def is_connected(self) -> bool:
        """True between ``connect`` and ``disconnect``."""
        return self._reader is not None

    @staticmethod
    def find_cameras() -> list[dict[str, Any]]:
        """None: a cell's folder is printed by ``svm-robot virtual``, it is not searched for."""
        return []

    def connect(self, warmup: bool = True) -> None:
        """Attach to the cell. Raises ``ConfigError`` without one, ``DeviceError`` when it is not there."""
        if not self.config.cell or not self.config.role:
            raise ConfigError(
                "a virtual camera needs cell and role, as `svm-robot virtual` prints them; "
                "the cameras of a virtual_so101 get theirs from the robot"
            )
        reader = FrameReader(Path(self.config.cell) / self.config.role)
        if reader.size != (self.height, self.width):
            reader.close()
            height, width = reader.size
            raise ConfigError(f"{self} has {width}x{height} pixels, the configuration says {self.width}x{self.height}")
        self._reader, self._returned = reader, 0

    def read(self) -> NDArray[np.uint8]:
        """(H, W, 3) the next frame, captured after the last one that was returned."""
        return self.async_read(timeout_ms=1000)

    def async_read(self, timeout_ms: float = 200) -> NDArray[np.uint8]:
        """(H, W, 3) the newest frame not returned yet; waits for one. Raises ``StaleError`` (a ``TimeoutError``)."""
        reader = self._open_reader()
        deadline = time.perf_counter() + timeout_ms / 1000
        while reader.newest_number() <= self._returned:
            if time.perf_counter() > deadline:
                raise StaleError(f"{self} has no new frame after {timeout_ms:g} ms; does its cell still run?")
            time.sleep(POLL_S)
        return self._newest(reader).pixels

    def read_latest(self, max_age_ms: float = 500) -> NDArray[np.uint8]:
        """(H, W, 3) the newest frame at once. Raises ``StaleError`` (a ``TimeoutError``) when it is too old."""
        frame = self._newest(self._open_reader())
        age_ms = (time.perf_counter() - frame.time_s) * 1000
        if age_ms > max_age_ms:
            raise StaleError(f"{self}: newest frame is {age_ms:.0f} ms old, at most {max_age_ms:g} ms allowed")
        return frame.pixels

    def disconnect(self) -> None:
        """Let the cell go; may be called twice."""
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def _open_reader(self) -> FrameReader:
        if self._reader is None:
            raise DeviceNotConnectedError(f"{self} is not connected")
        if self._reader.gone:
            raise DeviceError(f"{self} has been unplugged")
        return self._reader

    def _newest(self, reader: FrameReader) -> Frame:
        frame = reader.latest()
        if frame is None:
            raise DeviceError(f"{self} has no frame yet")
        self._returned, self.latest_timestamp, self.latest_number = frame.number, frame.time_s, frame.exposure
        return frame
