"""How much a bad line may cost in one tick: so many repeats, and none after the deadline."""


class Budget:
    """A tick begins with the first group read after goals were sent, or after the deadline. Times are monotonic [s]."""

    def __init__(self, retries: int, deadline_s: float) -> None:
        self.retries, self.deadline_s = retries, deadline_s
        self.ends_s = float("-inf")
        """The deadline of this tick."""
        self._left = 0

    def start(self, now_s: float) -> None:
        """A group read begins: the first of a tick, or one more in it."""
        if now_s >= self.ends_s:
            self.ends_s, self._left = now_s + self.deadline_s, self.retries

    def tick_over(self) -> None:
        """Goals were sent: what is read next belongs to the next tick."""
        self.ends_s = float("-inf")

    def take(self, now_s: float) -> bool:
        """One more repeat? It is taken when the answer is yes."""
        if self._left < 1 or now_s >= self.ends_s:
            return False
        self._left -= 1
        return True
