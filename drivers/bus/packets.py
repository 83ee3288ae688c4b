"""What a protocol gives and takes: requests as bytes, replies as values, damage as a value too."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol


class Status(NamedTuple):
    """A whole, undamaged reply. (A tuple, because six of them are made in every tick.)"""

    motor_id: int
    error: int
    """The error byte as sent."""
    data: bytes


class Damage(NamedTuple):
    """Bytes that are no reply."""

    kind: str
    """``crc``: a packet whose check sum is wrong; ``short``: one that ended early; ``junk``: bytes between packets."""
    motor_id: int | None
    """Whose packet it says it is; None for junk."""


class Codec(Protocol):
    """One serial protocol, without state. Lengths are in bytes; data is little-endian."""

    overhead: int
    """Bytes of a reply beside its data."""

    def read(self, motor_id: int, address: int, length: int) -> bytes:
        """Ask one motor for registers."""

    def write(self, motor_id: int, address: int, data: bytes) -> bytes:
        """Set registers of one motor; it acknowledges."""

    def group_read(self, motor_ids: Sequence[int], address: int, length: int) -> bytes:
        """Ask several motors at once; they reply in this order."""

    def group_write(self, address: int, rows: Mapping[int, bytes]) -> bytes:
        """Set the same registers of several motors; nobody replies."""

    def take(self, buffer: bytearray, longest: int, last: bool = False) -> list[Status | Damage]:
        """Cut what is complete off the front of ``buffer``; no reply has more than ``longest`` bytes of data.

        ``last``: no more bytes will come, so what is incomplete is damage; the buffer is empty afterwards.
        """


AtHeader = Callable[[bytearray, int], tuple[int, Status | Damage | None]]
"""What stands at a header, and how many bytes of it are done with; None: the rest is still to come."""


def cut(buffer: bytearray, header: bytes, shortest: int, at_header: AtHeader, last: bool) -> list[Status | Damage]:
    """The part of ``Codec.take`` that all protocols share: find headers, and call the rest junk."""
    found: list[Status | Damage] = []
    start, size = 0, len(buffer)
    while start < size:
        head = buffer.find(header, start)
        if head < 0:
            rest = size - (0 if last else _begun(buffer, header))
            if rest > start:
                found.append(Damage("junk", None))
            start = max(start, rest)
            break
        if head > start:
            found.append(Damage("junk", None))
            start = head
        if size - head < shortest:
            if last:
                found.append(Damage("short", None))
            break
        step, event = at_header(buffer, head)
        if event is None:
            break
        found.append(event)
        start += step
    del buffer[: size if last else start]
    return found


def _begun(buffer: bytearray, header: bytes) -> int:
    """How many bytes at the end may be the beginning of a header."""
    return next((size for size in range(len(header) - 1, 0, -1) if buffer.endswith(header[:size])), 0)
