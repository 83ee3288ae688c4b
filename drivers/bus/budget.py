"""How much a bad line may cost: so many repeats in any stretch of time, and no call longer than that stretch."""

from collections import deque


class Budget:
    """Repeats are counted over calls, so that several calls in one tick share them. Times are monotonic [s]."""

    def __init__(self, retries: int, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self.ends_s = 0.0
        """When the call that runs now must be over."""
        self._taken: deque[float] = deque(maxlen=retries)

    def start(self, now_s: float) -> None:
        """A call begins."""
        self.ends_s = now_s + self.deadline_s

    def take(self, now_s: float) -> bool:
        """One more repeat? It is taken when the answer is yes."""
        taken = self._taken
        if now_s >= self.ends_s or not taken.maxlen:
            return False
        if len(taken) == taken.maxlen and now_s - taken[0] < self.deadline_s:
            return False
        taken.append(now_s)
        return True
