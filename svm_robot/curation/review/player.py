"""Which frame of a film is due: true rate, pause, single steps, speeds, and a rest on the last frame of each round."""

SPEEDS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
REST_S = 0.7
"""How long the last frame stays before the film begins again: it decides most labels."""


class Player:
    """Time is an argument [s, monotonic]."""

    def __init__(self, frames: int, rate_hz: float, now_s: float) -> None:
        self.frames, self.rate_hz = frames, rate_hz
        self.playing, self.speed = True, 1.0
        self._position, self._at_s = 0.0, now_s

    def frame(self, now_s: float) -> int:
        """The frame to show now."""
        if self.playing:
            self._position += (now_s - self._at_s) * self.rate_hz * self.speed
            self._position %= self.frames + REST_S * self.rate_hz * self.speed
        self._at_s = now_s
        return min(int(self._position), self.frames - 1)

    def toggle(self, now_s: float) -> None:
        """Pause, or go on."""
        self.frame(now_s)
        self.playing = not self.playing

    def step(self, by: int, now_s: float) -> None:
        """Stop, and go some frames on or back; not beyond the ends."""
        self._position = float(min(max(self.frame(now_s) + by, 0), self.frames - 1))
        self.playing = False

    def faster(self, by: int, now_s: float) -> None:
        """Another of the speeds, ``by`` places further."""
        self.frame(now_s)
        place = SPEEDS.index(self.speed) + by
        self.speed = SPEEDS[min(max(place, 0), len(SPEEDS) - 1)]
