"""A clock for tests that never wait."""


class FakeClock:
    """Time passes when somebody sleeps, or when a test says so; sleeping may be late."""

    def __init__(self) -> None:
        self.time_s = 100.0
        self.late_s = 0.0

    def now_s(self) -> float:
        return self.time_s

    def sleep_until_s(self, moment_s: float) -> None:
        self.time_s = max(self.time_s, moment_s + self.late_s)
