"""Pictures from one process to others: a memory-mapped ring of frames, each with its capture time.

One writer, any number of readers, no locks. A reader takes the newest frame and looks afterwards whether the writer
has come round to that slot in the meantime; then it takes the next one. Times are ``time.perf_counter``, which all
processes of a machine share.
"""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from svm_robot.errors import DeviceError

VERSION = 2
SLOTS = 4
_HEADER = struct.Struct("<4sIIIQ")  # magic, version, height, width, number of the newest frame (0: none yet)
_MAGIC = b"SVMF"
_NEWEST = struct.Struct("<Q")
_NEWEST_AT = _HEADER.size - _NEWEST.size
_SLOT = struct.Struct("<QdQ")  # number of the frame (0 while it is written), capture time, number of the exposure
_GONE = b"GONE"
"""Stands in the place of the magic when the camera has been unplugged."""


@dataclass(frozen=True)
class Frame:
    """One picture."""

    pixels: NDArray[np.uint8]
    """(H, W, 3) RGB, the reader's own copy."""
    time_s: float
    """When it was captured [s, perf_counter]."""
    number: int
    """Counts from 1 since the camera started: a gap is a frame nobody read."""
    exposure: int
    """Counts what the sensor took: a camera that repeats a picture as if it were new repeats this as well."""


class FrameWriter:
    """Creates the ring in a file and puts frames into it."""

    def __init__(self, path: Path, size: tuple[int, int]) -> None:
        height, width = size
        self.path, self.size = path, size
        self._stride = _SLOT.size + height * width * 3
        self._number = self._exposure = 0
        with path.open("w+b") as file:
            file.truncate(_HEADER.size + SLOTS * self._stride)
            self._map = mmap.mmap(file.fileno(), 0)
        _HEADER.pack_into(self._map, 0, _MAGIC, VERSION, height, width, 0)

    def put(self, pixels: NDArray[np.uint8], time_s: float, exposed: bool = True) -> None:
        """Publish one frame (H, W, 3); ``exposed`` False: a repetition that the sensor did not take."""
        if pixels.shape != (*self.size, 3):
            raise ValueError(f"a frame of shape {pixels.shape} does not fit a camera of {self.size}")
        self._number += 1
        self._exposure += exposed
        start = _HEADER.size + (self._number % SLOTS) * self._stride
        _SLOT.pack_into(self._map, start, 0, 0.0, 0)
        self._map[start + _SLOT.size : start + self._stride] = pixels.tobytes()
        _SLOT.pack_into(self._map, start, self._number, time_s, self._exposure)
        _NEWEST.pack_into(self._map, _NEWEST_AT, self._number)

    def unplug(self) -> None:
        """Readers find the camera gone, for good; a new writer of the same file is a camera plugged in again."""
        self.path.unlink(missing_ok=True)  # the next writer must not cut short what readers still see
        self._map[: len(_GONE)] = _GONE
        self._map.close()

    def close(self) -> None:
        """Unmap; the file stays for whoever owns its folder."""
        self._map.close()


class FrameReader:
    """Reads the newest frame of a ring."""

    def __init__(self, path: Path) -> None:
        """Raises ``DeviceError`` when ``path`` is no such ring."""
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise DeviceError(
                f"no virtual camera at {path} ({error}); is `svm-robot virtual` still running?"
            ) from error
        magic, version, height, width, _ = _HEADER.unpack_from(self._map, 0)
        if magic != _MAGIC or version != VERSION:
            raise DeviceError(f"{path} is no virtual camera of this version ({VERSION})")
        self.size = (height, width)
        self._stride = _SLOT.size + height * width * 3

    @property
    def gone(self) -> bool:
        """True when the camera has been unplugged since this reader was made."""
        return self._map[: len(_GONE)] == _GONE

    def newest_number(self) -> int:
        """How many frames there have been; 0 before the first."""
        return int(_NEWEST.unpack_from(self._map, _NEWEST_AT)[0])

    def latest(self) -> Frame | None:
        """The newest frame; None before the first."""
        while (number := self.newest_number()) > 0:
            start = _HEADER.size + (number % SLOTS) * self._stride
            before, time_s, exposure = _SLOT.unpack_from(self._map, start)
            pixels = np.frombuffer(self._map[start + _SLOT.size : start + self._stride], np.uint8)
            after = _SLOT.unpack_from(self._map, start)[0]
            if before == after == number:
                return Frame(pixels.reshape(*self.size, 3).copy(), time_s, number, exposure)
        return None

    def close(self) -> None:
        """Unmap."""
        self._map.close()
