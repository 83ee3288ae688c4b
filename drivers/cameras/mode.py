"""Width, height, rate and pixel format: what was asked for, what the device says, and what really arrives."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

WIDTH, HEIGHT, FPS, FOURCC = 3, 4, 5, 6
"""OpenCV's numbers of these properties."""
RATE_TOLERANCE = 0.02
"""29.97 is 30."""


@dataclass(frozen=True)
class Mode:
    """One way to take pictures. 0 and "": not known, or not asked for."""

    width: int
    height: int
    fps: float
    fourcc: str = ""

    def __str__(self) -> str:
        rate = f" at {self.fps:g}/s" if self.fps else ""
        return f"{self.width}x{self.height}{rate}{' ' + self.fourcc if self.fourcc else ''}"

    def misses(self, told: "Mode") -> bool:
        """True when the device says something else than was asked for here."""
        pairs = ((self.width, told.width), (self.height, told.height))
        if any(asked and given and asked != given for asked, given in pairs):
            return True
        if self.fps and told.fps and abs(told.fps - self.fps) > RATE_TOLERANCE * self.fps:
            return True
        return bool(self.fourcc and told.fourcc and self.fourcc != told.fourcc)


def asked_mode(camera: Any) -> Mode:
    """What the rig file asks a camera for, before any turning of the picture."""
    width = getattr(camera, "capture_width", None) or camera.width or 0
    height = getattr(camera, "capture_height", None) or camera.height or 0
    return Mode(width, height, camera.fps or 0, getattr(getattr(camera, "config", None), "fourcc", None) or "")


def told_mode(camera: Any) -> Mode | None:
    """What an OpenCV device says of itself; None for cameras that cannot be asked."""
    capture = getattr(camera, "videocapture", None)
    if capture is None:
        return None
    code = int(capture.get(FOURCC))
    fourcc = code.to_bytes(4, "little").decode("latin-1") if 0 < code < 1 << 32 else ""
    return Mode(round(capture.get(WIDTH)), round(capture.get(HEIGHT)), capture.get(FPS), fourcc.strip("\0"))


def listed(modes: Iterable[Mode]) -> str:
    """``MJPG 1280x720 at 30, 15; 640x480 at 30``, one line; empty for none."""
    parts = []
    for fourcc, of_format in groupby(modes, key=lambda mode: mode.fourcc):
        sizes = []
        for (width, height), of_size in groupby(of_format, key=lambda mode: (mode.width, mode.height)):
            sizes.append(f"{width}x{height} at {', '.join(f'{mode.fps:g}' for mode in of_size)}")
        parts.append(f"{fourcc} {'; '.join(sizes)}".strip())
    return " | ".join(parts)
