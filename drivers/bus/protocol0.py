"""Feetech's protocol of STS and SMS servos ("protocol 0"), the host's side. Pure.

A packet is ``FF FF id length code data... sum``: ``length`` counts from ``code`` to the sum; ``code`` is an instruction
or, in a reply, the error byte; the sum is the inverted sum of all bytes from ``id`` on.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

from svm_robot.drivers.bus.packets import Damage, Status, cut

HEADER = b"\xff\xff"
BROADCAST = 0xFE
READ, WRITE, GROUP_READ, GROUP_WRITE = 0x02, 0x03, 0x82, 0x83
SHORTEST = 6
"""Bytes of a reply without data."""


class Protocol0:
    """A ``Codec``."""

    overhead = SHORTEST

    def read(self, motor_id: int, address: int, length: int) -> bytes:
        """``READ address length``."""
        return packet(motor_id, READ, bytes((address, length)))

    def write(self, motor_id: int, address: int, data: bytes) -> bytes:
        """``WRITE address data``."""
        return packet(motor_id, WRITE, bytes((address,)) + data)

    def group_read(self, motor_ids: Sequence[int], address: int, length: int) -> bytes:
        """``SYNC READ address length ids``."""
        return _group_read(tuple(motor_ids), address, length)

    def group_write(self, address: int, rows: Mapping[int, bytes]) -> bytes:
        """``SYNC WRITE address length (id data)...``; all data have one length."""
        length = len(next(iter(rows.values())))
        body = b"".join(bytes((motor_id,)) + data for motor_id, data in rows.items())
        return packet(BROADCAST, GROUP_WRITE, bytes((address, length)) + body)

    def take(self, buffer: bytearray, longest: int, last: bool = False) -> list[Status | Damage]:
        """See ``Codec``."""
        return cut(buffer, HEADER, SHORTEST, partial(_status, longest=longest, last=last), last)


def packet(motor_id: int, code: int, data: bytes) -> bytes:
    """One packet, either way."""
    body = bytes((motor_id, len(data) + 2, code)) + data
    return HEADER + body + bytes((~sum(body) & 0xFF,))


@lru_cache(maxsize=64)
def _group_read(motor_ids: tuple[int, ...], address: int, length: int) -> bytes:
    return packet(BROADCAST, GROUP_READ, bytes((address, length, *motor_ids)))


def _status(buffer: bytearray, head: int, longest: int, last: bool) -> tuple[int, Status | Damage | None]:
    """See ``packets.AtHeader``."""
    size = len(buffer)
    motor_id, length = buffer[head + 2], buffer[head + 3]
    if motor_id >= BROADCAST or not 2 <= length <= longest + 2:
        return 1, Damage("junk", None)
    end = head + 4 + length
    if end > size:
        return _beyond(buffer, head, size, Damage("short", motor_id)) if last else (0, None)
    if ~sum(buffer[head + 2 : end - 1]) & 0xFF == buffer[end - 1]:
        return end - head, Status(motor_id, buffer[head + 4], bytes(buffer[head + 5 : end - 1]))
    kind = "short" if buffer.find(HEADER, head + 2, end + 1) >= 0 else "crc"
    return _beyond(buffer, head, end, Damage(kind, motor_id))


def _beyond(buffer: bytearray, head: int, end: int, damage: Damage) -> tuple[int, Damage]:
    """Go on at the next header inside the damaged packet, if there is one: it is a reply cut short, then another."""
    inner = buffer.find(HEADER, head + 2, end + 1)
    return (inner if inner >= 0 else end) - head, damage
