"""Looks at the pictures themselves: does this camera still see? Pure: no device, no clock.

A frozen device hands out one picture for ever, each time as if it were new. Equal pixels alone are no proof: a
simulated world or a still scene without sensor noise gives them too. So they count only where the camera has shown
noise while nothing moved (``noisy``), or where it numbers its exposures and the number stands still.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.cameras.limits import CameraLimits

ImageArray = NDArray[np.uint8]

GRID = 96
"""Pictures are looked at with about this many pixels along each edge."""
DARK = 24
"""Black: 99 of 100 pixels are darker than this (of 255)."""
FLAT = 8
"""Of one colour: 98 of 100 pixels lie within this range of brightness (of 255)."""
NOISY = 0.2
"""Sensor noise changes at least this share of the pixels from one picture to the next; a hand in view does not."""


@dataclass(frozen=True)
class Finding:
    """What is wrong with the newest picture."""

    kind: str
    """``frozen`` or ``blank``."""
    what: str
    """In words."""
    since_s: float
    """Capture time of the first picture that was like this [s]."""


def thinned(picture: ImageArray) -> ImageArray:
    """(h, w, 3) a copy of every n-th pixel, small enough to keep and compare."""
    step = max(1, max(picture.shape[:2]) // GRID)
    return picture[::step, ::step].copy()


def noise_share(pictures: Sequence[ImageArray]) -> float:
    """Share of pixels that change from one picture of a still scene to the next; 0 for a camera without noise.

    ``pictures`` are consecutive, ``thinned``. In dim light some cameras give each picture twice: equal neighbours are
    left out as long as they are not most of them.
    """
    changed = [float(np.mean(np.any(a != b, axis=-1))) for a, b in pairwise(pictures)]
    real = [share for share in changed if share > 0]
    return float(np.median(real)) if len(real) > len(changed) / 3 else 0.0


def blankness(picture: ImageArray) -> str:
    """Why a picture shows nothing, in words; empty when it shows something."""
    thin = picture[::2, ::2].astype(np.uint16)  # this runs at every tick: sums of integers, and one sort
    brightness = np.sort(thin[..., 0] + thin[..., 1] + thin[..., 2], axis=None) / 3
    few = len(brightness) // 100
    low, high = brightness[few], brightness[-1 - few]
    if high < DARK:
        return f"black (brightness {brightness.mean():.0f} of 255): is the lens covered, the light off?"
    if high - low < FLAT:
        return f"all of one colour (brightness {brightness.mean():.0f} of 255): is the lens covered or overexposed?"
    return ""


class FrameWatch:
    """Sees the pictures of one camera in the order of their capture. ``noisy``: see ``noise_share``."""

    def __init__(self, limits: CameraLimits, noisy: bool = False) -> None:
        self.limits, self.noisy = limits, noisy
        self.newest_s = -np.inf
        """Capture time of the last picture seen."""
        self._first: ImageArray | None = None
        self._first_s = self._counted_s = self._seen_well_s = -np.inf
        self._number: int | None = None

    def see(self, picture: ImageArray, time_s: float, number: int | None = None) -> Finding | None:
        """Look at one picture (H, W, 3); the same one may be shown again. ``number``: of the exposure, where told."""
        if time_s <= self.newest_s:
            return None
        if self.newest_s == -np.inf:
            self._seen_well_s = self._counted_s = time_s
        self.newest_s = time_s
        pixels = thinned(picture)
        return self._frozen(pixels, time_s, number) or self._blank(pixels, time_s)

    def _frozen(self, pixels: ImageArray, time_s: float, number: int | None) -> Finding | None:
        if self._first is None or not np.array_equal(self._first, pixels):
            self._first, self._first_s = pixels, time_s
        if number is None or number != self._number:
            self._number, self._counted_s = number, time_s
        # a noisy camera that counts too is judged by the count: it may well look at a screen
        begin = self._counted_s if number is not None else self._first_s if self.noisy else time_s
        stood_s = time_s - begin
        if not self.limits.frozen_after_s or stood_s < self.limits.frozen_after_s:
            return None
        return Finding("frozen", f"frozen: the same picture for {stood_s:.1f} s, each time as if it were new", begin)

    def _blank(self, pixels: ImageArray, time_s: float) -> Finding | None:
        why = blankness(pixels)
        if not why:
            self._seen_well_s = time_s
        blind_s = time_s - self._seen_well_s
        if not self.limits.blank_after_s or not why or blind_s < self.limits.blank_after_s:
            return None
        return Finding("blank", f"{why} It has shown nothing for {blind_s:.1f} s", self._seen_well_s)
