"""Positions that jump are believed only when a second reading agrees: a short check sum lets some damage through.

Feetech's check sum has 8 bits: of bytes damaged at random, one packet in 256 still looks whole.
"""

ODD = 100
"""A change of speed of more than this between two readings is odd [counts per reading]."""
AGREE = 60
"""Two readings right after each other may differ by this [counts]."""
RECENT_S = 0.5
"""After a longer pause anything may have happened, so the next reading is odd."""


class Jumps:
    """Remembers each motor's last position and step."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[int, int, float]] = {}
        """Motor id -> position, step from the one before, when [s]."""

    def odd(self, positions: dict[int, int], now_s: float) -> list[int]:
        """Motors whose position does not follow from the last two."""
        found = []
        for motor_id, position in positions.items():
            last = self._last.get(motor_id)
            if last is None or now_s - last[2] > RECENT_S or abs(position - last[0] - last[1]) > ODD:
                found.append(motor_id)
        return found

    def note(self, positions: dict[int, int], now_s: float) -> None:
        """These are believed."""
        for motor_id, position in positions.items():
            last = self._last.get(motor_id)
            recent = last is not None and now_s - last[2] <= RECENT_S
            self._last[motor_id] = position, position - last[0] if recent and last is not None else 0, now_s


def agree(first: int, second: int) -> bool:
    """True when both readings can be of the same place."""
    return abs(first - second) <= AGREE
