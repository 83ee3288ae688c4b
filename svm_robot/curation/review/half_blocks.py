"""Pictures as coloured half blocks: two pixels in each character cell, in any terminal, also over SSH."""

import numpy as np
from numpy.typing import NDArray

from svm_robot.rollout.env import ImageArray

UPPER_HALF = "\u2580"
LEVELS = np.array([0, 95, 135, 175, 215, 255])
"""Red, green and blue of the 6x6x6 colours that every 256-colour terminal has, from number 16."""
GREYS = 8 + 10 * np.arange(24)
"""Behind them, from number 232."""
COARSE = 4
"""24-bit colours are rounded to steps of this size: equal neighbours need no new colour."""
NOISE = 8
"""A pixel that differs by less in every colour is left as it is shown: a camera's noise would be sent all the time."""

Cells = NDArray[np.int32]
"""(rows, columns, 2) colours of the upper and the lower half."""


class Canvas:
    """Turns pictures into what must be sent to show them; what stands there already is not sent again."""

    def __init__(self, truecolor: bool) -> None:
        self.truecolor = truecolor
        self._shown: dict[tuple[int, int], ImageArray] = {}

    def clear(self) -> None:
        """Forget what is shown: the terminal was wiped."""
        self._shown.clear()

    def draw(self, picture: ImageArray, line: int, column: int) -> bytes:
        """Escape sequences that show (2 R, C, 3) RGB at this place (the first line and column are 0)."""
        before = self._shown.get((line, column))
        changed = np.ones((len(picture) // 2, picture.shape[1]), bool)
        if before is not None and before.shape == picture.shape:
            differs = (np.abs(picture.astype(np.int16) - before) >= NOISE).any(axis=-1)
            changed = differs[0::2] | differs[1::2]
            picture = np.where(np.repeat(changed, 2, axis=0)[..., None], picture, before)
        self._shown[line, column] = picture
        colours = pack(picture) if self.truecolor else nearest_of_256(picture)
        cells = np.stack([colours[0::2], colours[1::2]], axis=-1)
        return "".join(self._rows(cells, changed, line, column)).encode()

    def _rows(self, cells: Cells, changed: NDArray[np.bool_], line: int, column: int) -> list[str]:
        parts: list[str] = []
        last: list[int] | None = None
        for row in np.flatnonzero(changed.any(axis=1)).tolist():
            places = np.flatnonzero(changed[row]).tolist()
            colours = cells[row, places].tolist()
            expected = -1
            for place, pair in zip(places, colours, strict=True):
                if place != expected:
                    parts.append(f"\x1b[{line + row + 1};{column + place + 1}H")
                if pair != last:
                    parts.append(self._colours(*pair))
                    last = pair
                parts.append(UPPER_HALF)
                expected = place + 1
        return [*parts, "\x1b[0m"] if parts else parts

    def _colours(self, upper: int, lower: int) -> str:
        if self.truecolor:
            return f"\x1b[38;2;{rgb(upper)};48;2;{rgb(lower)}m"
        return f"\x1b[38;5;{upper};48;5;{lower}m"


def rgb(packed: int) -> str:
    """``red;green;blue`` of a packed colour."""
    return f"{packed >> 16};{packed >> 8 & 255};{packed & 255}"


def pack(picture: ImageArray) -> NDArray[np.int32]:
    """(H, W) of (H, W, 3): red, green and blue in one number, coarsely."""
    coarse = (picture.astype(np.int32) // COARSE) * COARSE
    return np.asarray(coarse[..., 0] << 16 | coarse[..., 1] << 8 | coarse[..., 2], np.int32)


def nearest_of_256(picture: ImageArray) -> NDArray[np.int32]:
    """(H, W) numbers of the nearest of the 240 fixed colours: of the cube, or of the ramp of greys."""
    colour = picture.astype(np.int32)
    steps = np.searchsorted((LEVELS[1:] + LEVELS[:-1]) / 2, colour)
    cube = 16 + 36 * steps[..., 0] + 6 * steps[..., 1] + steps[..., 2]
    grey = np.clip(np.rint((colour.mean(axis=-1) - GREYS[0]) / 10), 0, len(GREYS) - 1).astype(np.int32)
    cube_error = np.square(LEVELS[steps] - colour).sum(axis=-1)
    grey_error = np.square(GREYS[grey][..., None] - colour).sum(axis=-1)
    return np.asarray(np.where(grey_error < cube_error, 232 + grey, cube), np.int32)
