"""Robotis' protocol 2.0 of the Dynamixel X series. Pure; the host's side, and what both sides share.

A packet is ``FF FF FD 00 id length(2) code data... crc(2)``: ``length`` counts from ``code`` to the CRC. In a reply,
``code`` is 0x55 and the first byte of data the error. Data that would look like a header is stuffed: ``FF FF FD``
becomes ``FF FF FD FD``. The CRC-16 (polynomial 0x8005, start 0) covers everything before it.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

from svm_robot.drivers.bus.packets import Damage, Status, cut

HEADER = b"\xff\xff\xfd\x00"
LOOKALIKE = HEADER[:3]
BROADCAST = 0xFE
READ, WRITE, REBOOT, STATUS, GROUP_READ, GROUP_WRITE = 0x02, 0x03, 0x08, 0x55, 0x82, 0x83
SHORTEST = 11
"""Bytes of a reply without data."""


class Protocol2:
    """A ``Codec``."""

    overhead = SHORTEST

    def read(self, motor_id: int, address: int, length: int) -> bytes:
        """``READ address(2) length(2)``."""
        return packet(motor_id, READ, word(address) + word(length))

    def write(self, motor_id: int, address: int, data: bytes) -> bytes:
        """``WRITE address(2) data``."""
        return packet(motor_id, WRITE, word(address) + data)

    def group_read(self, motor_ids: Sequence[int], address: int, length: int) -> bytes:
        """``SYNC READ address(2) length(2) ids``."""
        return _group_read(tuple(motor_ids), address, length)

    def group_write(self, address: int, rows: Mapping[int, bytes]) -> bytes:
        """``SYNC WRITE address(2) length(2) (id data)...``; all data have one length."""
        length = len(next(iter(rows.values())))
        body = b"".join(bytes((motor_id,)) + data for motor_id, data in rows.items())
        return packet(BROADCAST, GROUP_WRITE, word(address) + word(length) + body)

    def reboot(self, motor_id: int) -> bytes:
        """``REBOOT``: the only way out of a hardware error. The motor acknowledges."""
        return packet(motor_id, REBOOT, b"")

    def take(self, buffer: bytearray, longest: int, last: bool = False) -> list[Status | Damage]:
        """See ``Codec``."""
        return cut(buffer, HEADER, SHORTEST, partial(_status, longest=longest, last=last), last)


def packet(motor_id: int, code: int, data: bytes) -> bytes:
    """One packet, either way."""
    body = bytes((code,)) + stuffed(data)
    whole = HEADER + bytes((motor_id,)) + word(len(body) + 2) + body
    return whole + word(crc16(whole))


def word(value: int) -> bytes:
    """Two bytes, low one first."""
    return value.to_bytes(2, "little")


def stuffed(data: bytes) -> bytes:
    """``data`` without anything that looks like a header."""
    return data.replace(LOOKALIKE, LOOKALIKE + b"\xfd")


def unstuffed(data: bytes) -> bytes:
    """The reverse of ``stuffed``."""
    return data.replace(LOOKALIKE + b"\xfd", LOOKALIKE)


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        crc = byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ (0x8005 if crc & 0x8000 else 0)
        table.append(crc & 0xFFFF)
    return tuple(table)


_TABLE = _crc_table()


def crc16(data: bytes | bytearray) -> int:
    """Of everything before the CRC itself."""
    crc, table = 0, _TABLE
    for byte in data:
        crc = (crc << 8 & 0xFFFF) ^ table[crc >> 8 ^ byte]
    return crc


@lru_cache(maxsize=64)
def _group_read(motor_ids: tuple[int, ...], address: int, length: int) -> bytes:
    return packet(BROADCAST, GROUP_READ, word(address) + word(length) + bytes(motor_ids))


def _status(buffer: bytearray, head: int, longest: int, last: bool) -> tuple[int, Status | Damage | None]:
    """See ``packets.AtHeader``."""
    size = len(buffer)
    motor_id, length = buffer[head + 4], buffer[head + 5] | buffer[head + 6] << 8
    if motor_id >= BROADCAST or not 4 <= length <= 4 + longest + longest // 3 + 1 or buffer[head + 7] != STATUS:
        return 1, Damage("junk", None)
    end = head + 7 + length
    if end > size:
        return _beyond(buffer, head, size, Damage("short", motor_id)) if last else (0, None)
    if crc16(buffer[head : end - 2]) == buffer[end - 2] | buffer[end - 1] << 8:
        return end - head, Status(motor_id, buffer[head + 8], unstuffed(bytes(buffer[head + 9 : end - 2])))
    kind = "short" if buffer.find(HEADER, head + 4, end + 3) >= 0 else "crc"
    return _beyond(buffer, head, end, Damage(kind, motor_id))


def _beyond(buffer: bytearray, head: int, end: int, damage: Damage) -> tuple[int, Damage]:
    """Go on at the next header inside the damaged packet, if there is one: it is a reply cut short, then another."""
    inner = buffer.find(HEADER, head + 4, end + 3)
    return (inner if inner >= 0 else end) - head, damage
