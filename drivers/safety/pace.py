"""How far the joints may go by now: a speed limit that also holds when ticks bunch together."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

IN_HAND = 2.0
"""Periods of motion that may be in hand. One is for the tick; the other because a policy that thinks long in one tick
and not at all in the next sends two targets in less than a period."""


class Pace:
    """A purse of motion for each joint: time fills it at the greatest speed, each target empties it.

    Over any stretch of time a joint's targets so move at most ``speed * (stretch + IN_HAND periods)``.
    """

    def __init__(self, speed: FloatArray, period_s: float) -> None:
        """``speed``: (J,) [robot units/s]."""
        self.speed, self.most = speed, speed * period_s * IN_HAND
        self._left = self.most.copy()
        self._since_s: float | None = None

    def restart(self) -> None:
        """The purse is full."""
        self._left, self._since_s = self.most.copy(), None

    def allowance(self, now_s: float) -> FloatArray:
        """(J,) how far each joint may go now [robot units]. Time that went backwards fills nothing."""
        if self._since_s is not None:
            self._left = np.minimum(self.most, self._left + self.speed * max(0.0, now_s - self._since_s))
        self._since_s = now_s
        return self._left.copy()

    def spend(self, moved: FloatArray) -> None:
        """A target was sent that lies ``moved`` (J,) from the one before."""
        self._left = np.maximum(0.0, self._left - moved)
