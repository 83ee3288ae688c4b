"""What can go wrong with a servo's answer on its way. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

JUNK = b"\x00\xff\x17"
"""Stray bytes in front of a reply; the lone FF looks like half a header."""
NOISE = bytes((0xF8, 0x3C, 0x00, 0xFE, 0x80, 0x1C))
"""What replies look like at the wrong baud rate."""
MASK = 0x55
"""The bits of a byte that turn over when it is corrupted."""


@dataclass(frozen=True)
class WireFaults:
    """What goes wrong on the wire. Replies are counted from 1 since these faults were set; all off by default."""

    corrupt: Collection[int] = ()
    """Replies whose check sum is wrong."""
    flips: Sequence[tuple[int, int]] = ()
    """(reply, byte of it): this byte is damaged; beyond the end it is counted from the start again."""
    lose: Collection[int] = ()
    """Replies that never come."""
    truncate: Collection[int] = ()
    """Replies that lose their second half."""
    junk: Collection[int] = ()
    """Replies with stray bytes in front."""
    late: Collection[int] = ()
    """Replies that come ``late_s`` after their time, whatever was asked meanwhile."""
    late_s: float = 0.03
    noise: bool = False
    """All replies are noise, as at a wrong baud rate."""
    dead: Sequence[int] = ()
    """Servo ids that do not answer (and whose motors are limp)."""
    errors: dict[int, int] = field(default_factory=dict)
    """Servo id -> fault bits (``ErrorBit``) that it reports."""
    delay_s: float = 0.0
    """Every reply comes this much later [s]."""


class Spoiler:
    """Counts the replies of one bus and damages those that are due."""

    def __init__(self, faults: WireFaults) -> None:
        self.noise = faults.noise
        self._corrupt, self._lose = frozenset(faults.corrupt), frozenset(faults.lose)
        self._truncate, self._junk, self._late = map(frozenset, (faults.truncate, faults.junk, faults.late))
        self._flips = {int(reply): int(place) for reply, place in faults.flips}
        self._replies = 0
        self._kept: list[bytes] = []

    def spoil(self, reply: bytes) -> bytes:
        """What goes on the line now."""
        self._replies += 1
        number = self._replies
        if self.noise:
            return NOISE
        if number in self._lose:
            return b""
        if number in self._corrupt:
            reply = _flipped(reply, -1)
        if number in self._flips:
            reply = _flipped(reply, self._flips[number] % len(reply))
        if number in self._truncate:
            reply = reply[: len(reply) // 2]
        if number in self._junk:
            reply = JUNK + reply
        if number in self._late:
            self._kept.append(reply)
            return b""
        return reply

    def late(self) -> list[bytes]:
        """Replies kept back since the last call."""
        kept, self._kept = self._kept, []
        return kept


def _flipped(reply: bytes, place: int) -> bytes:
    damaged = bytearray(reply)
    damaged[place] ^= MASK
    return bytes(damaged)
