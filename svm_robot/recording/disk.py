"""Room on the disk: what an episode will need, what is left, and what a failed write really means."""

import errno
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from svm_robot.errors import DataError, DiskError

MB = 1_000_000

FULL = {
    errno.ENOSPC: "the disk is full (ENOSPC)",
    errno.EDQUOT: "the disk quota of this user is used up (EDQUOT)",
    errno.EFBIG: "the file is larger than the system allows here (EFBIG: a limit of the shell, or of the file system)",
    errno.EROFS: "the disk is mounted read-only, as after a fault of the disk (EROFS)",
    errno.EIO: "the disk reports a fault (EIO)",
}
"""What the system says when a file cannot be written, in words."""


def failure(what: str, error: BaseException) -> DataError:
    """The error to raise when writing failed: it names the disk where the disk was the cause.

    Only for our own files: a camera that says "No space left on device" means the USB bus.
    """
    number = error.errno if isinstance(error, OSError) else None
    if number in FULL:
        return DiskError(f"{what}: {FULL[number]}. Make room, then record on: earlier episodes are untouched")
    return DataError(f"{what}: {error}")


@dataclass(frozen=True)
class Reserve:
    """How much of the disk recording leaves alone."""

    keep_mb: int = 200  # free space that recording never uses [MB]
    ahead_s: float = 30.0  # an episode begins only where there is room for so much more recording [s]
    every_s: float = 1.0  # how often the free space is looked at while an episode runs [s]


class DiskGuard:
    """Watches the free space of one dataset. ``begin`` before each episode, ``watch`` while it runs, then ``learn``."""

    def __init__(
        self,
        root: Path,
        pixels: Mapping[str, tuple[int, int]],
        rate_hz: float,
        bytes_per_pixel: Callable[[int, int], float],
        reserve: Reserve | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``pixels``: camera role -> (height, width); ``bytes_per_pixel(height, width)`` is a first guess."""
        self.root, self.rate_hz, self.reserve, self.clock = root, rate_hz, reserve or Reserve(), clock
        self.bytes_per_s = rate_hz * sum(h * w * bytes_per_pixel(h, w) for h, w in pixels.values())
        """Of one second of recording: guessed from the pixels, then as the last episode had it."""
        self._looked_s = 0.0

    def begin(self) -> None:
        """Raise ``DiskError`` when there is no room for an episode."""
        self._looked_s = self.clock()
        free, needed = self.free_bytes(), self.reserve.keep_mb * MB + self.bytes_per_s * self.reserve.ahead_s
        if free < needed:
            raise DiskError(
                f"no room for an episode: {self.root} has {free / MB:.0f} MB left, and {needed / MB:.0f} MB are asked "
                f"for ({self.reserve.keep_mb} MB that stay free, and {self.reserve.ahead_s:.0f} s of recording at "
                f"{self.bytes_per_s / MB:.1f} MB/s). Make room, or record into a dataset on another disk"
            )

    def watch(self) -> None:
        """Raise ``DiskError`` when the episode has to end now, while there is still room to save it."""
        now = self.clock()
        if now - self._looked_s < self.reserve.every_s:
            return
        self._looked_s = now
        free = self.free_bytes()
        if free < self.reserve.keep_mb * MB:
            raise DiskError(
                f"the disk is nearly full: {self.root} has {free / MB:.0f} MB left, {self.reserve.keep_mb} MB stay "
                "free. The episode ends here and is saved; make room, then record on"
            )

    def learn(self, written: int, rows: int) -> None:
        """An episode of so many rows took so many bytes."""
        if rows:
            self.bytes_per_s = written / rows * self.rate_hz

    def free_bytes(self) -> int:
        """What this user can still write where the dataset lies, or will lie."""
        root = self.root.absolute()
        return shutil.disk_usage(next(place for place in (root, *root.parents) if place.exists())).free
