"""Real time for a simulation: how many steps are due now, and how much time was lost because the computer is slow."""


class RealTimePace:
    """Counts fixed steps against a clock that the caller reads. Lost time is counted, never made up in a burst."""

    def __init__(self, step_s: float, max_behind_s: float) -> None:
        self.step_s = step_s
        self.max_behind_s = max_behind_s
        """More than this is given up: the simulation then runs slower than the clock."""
        self.lost_s = 0.0

    def start(self, now_s: float) -> None:
        """Nothing is due at ``now_s``."""
        self._anchor_s, self._done = now_s, 0

    def due(self, now_s: float) -> int:
        """How many steps to take now; they count as taken."""
        steps = int((now_s - self._anchor_s) / self.step_s + 1e-9) - self._done
        most = max(1, round(self.max_behind_s / self.step_s))
        if steps > most:
            lost_s = (steps - most) * self.step_s
            self._anchor_s += lost_s
            self.lost_s += lost_s
            steps = most
        self._done += steps
        return steps

    def next_s(self) -> float:
        """When the next step falls due, on the caller's clock [s]."""
        return self._anchor_s + (self._done + 1) * self.step_s
