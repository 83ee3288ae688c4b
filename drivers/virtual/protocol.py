"""Feetech's serial protocol for STS servos ("protocol 0"): packets to bytes and back. Pure: no port, no clock.

A packet is ``FF FF id length code parameters... checksum``; ``length`` counts from ``code`` to the checksum, ``code``
is an instruction (host to servo) or an error byte (servo to host), the checksum is the inverted sum from ``id`` on.
"""

from dataclasses import dataclass
from enum import IntEnum, IntFlag

HEADER = b"\xff\xff"
BROADCAST_ID = 0xFE
MAX_LENGTH = 250


class Instruction(IntEnum):
    """What a host may ask."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04
    """Keep a write until ``ACTION`` arrives."""
    ACTION = 0x05
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83


class ErrorBit(IntFlag):
    """The error byte of a reply."""

    VOLTAGE = 1
    ANGLE = 2
    OVERHEAT = 4
    OVERCURRENT = 8
    OVERLOAD = 32


@dataclass(frozen=True)
class Packet:
    """One packet, either way."""

    servo_id: int
    code: int
    """An ``Instruction`` in a request, an ``ErrorBit`` mask in a reply."""
    parameters: bytes = b""


def checksum(body: bytes) -> int:
    """Of everything between the header and the checksum itself."""
    return ~sum(body) & 0xFF


def encode(packet: Packet) -> bytes:
    """The bytes on the wire."""
    body = bytes([packet.servo_id, len(packet.parameters) + 2, packet.code]) + packet.parameters
    return HEADER + body + bytes([checksum(body)])


class Parser:
    """Cuts a stream of bytes into packets and finds its way again after junk, as a servo must."""

    def __init__(self) -> None:
        self.discarded = 0
        """Bytes that belonged to no valid packet."""
        self._buffer = bytearray()

    @property
    def pending(self) -> bool:
        """True when a packet has begun and not ended."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[Packet]:
        """Take what arrived; return the packets that are complete now, in order."""
        self._buffer += data
        packets = []
        while (packet := self._next()) is not None:
            packets.append(packet)
        return packets

    def forget(self) -> None:
        """Drop a packet that has begun: its rest did not come in time."""
        self._drop(len(self._buffer))

    def _next(self) -> Packet | None:
        while self._find_header():
            if len(self._buffer) < 4:
                return None
            end = 4 + self._buffer[3]
            if self._buffer[2] == 0xFF or not 6 <= end <= 4 + MAX_LENGTH:
                self._drop(1)
                continue
            if len(self._buffer) < end:
                return None
            body = bytes(self._buffer[2 : end - 1])
            if checksum(body) != self._buffer[end - 1]:
                self._drop(1)
                continue
            del self._buffer[:end]
            return Packet(body[0], body[2], body[3:])
        return None

    def _find_header(self) -> bool:
        """Bring a header to the front; keep a last byte that may be half of one."""
        start = self._buffer.find(HEADER)
        if start < 0:
            half = self._buffer[-1:] == HEADER[:1]
            self._drop(len(self._buffer) - half)
            return False
        self._drop(start)
        return True

    def _drop(self, count: int) -> None:
        del self._buffer[:count]
        self.discarded += count
