"""Time as an argument, so that tests never wait."""

import time
from typing import Protocol


class Clock(Protocol):
    """A monotonic clock that can wait."""

    def now_s(self) -> float:
        """Seconds since some fixed moment."""

    def sleep_until_s(self, moment_s: float) -> None:
        """Return at ``moment_s`` or, when that is past, at once."""


class MonotonicClock:
    """The machine's clock, the one that cameras stamp their frames with (``time.perf_counter``)."""

    def now_s(self) -> float:
        """Seconds since the machine started, on Linux and macOS."""
        return time.perf_counter()

    def sleep_until_s(self, moment_s: float) -> None:
        """Sleeps; wakes up late by what the system's timer costs (a tenth of a millisecond, more under load)."""
        left = moment_s - time.perf_counter()
        if left > 0:
            time.sleep(left)
