"""The control rate: ticks on a fixed grid, so that lateness never adds up."""

from svm_robot.drivers.clock import Clock


class Ticker:
    """Waits for tick after tick at ``rate_hz``. A tick that is missed by a whole period is left out, not made up."""

    def __init__(self, rate_hz: float, clock: Clock) -> None:
        self.period_s = 1 / rate_hz
        self.clock = clock
        self.ticks = 0
        """Ticks since ``start``, the first one included."""
        self.missed = 0
        """Ticks left out because the loop was not back in time."""
        self.lateness_s: list[float] = []
        """How late each tick began [s]."""
        self._start_s: float | None = None
        self._index = 0

    def start(self) -> None:
        """The next ``wait`` returns at once and sets the grid."""
        self._start_s = None

    def wait(self) -> None:
        """Return when the next tick is due."""
        now = self.clock.now_s()
        self.ticks += 1
        if self._start_s is None:
            self._start_s, self._index = now, 0
            return
        passed = int((now - self._start_s) / self.period_s)
        self.missed += max(0, passed - (self._index + 1))
        self._index = max(self._index + 1, passed)
        due_s = self._start_s + self._index * self.period_s
        self.clock.sleep_until_s(due_s)
        self.lateness_s.append(max(0.0, self.clock.now_s() - due_s))
