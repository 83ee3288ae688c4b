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


class StreamParser:
    """Cuts a stream of bytes into packets and finds its way again after junk, as a servo must. One protocol each."""

    header: bytes
    shortest: int
    """Bytes that must be there before the length of a packet can be told."""

    def __init__(self) -> None:
        self.discarded = 0
        """Bytes that belonged to no valid packet."""
        self._buffer = bytearray()

    def end_of(self, buffer: bytearray) -> int:
        """How many bytes the packet at the front has; 0: there cannot be one."""
        raise NotImplementedError

    def decoded(self, whole: bytes) -> Packet | None:
        """The packet of these bytes; None for a wrong check sum."""
        raise NotImplementedError

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
        buffer = self._buffer
        while self._find_header():
            if len(buffer) < self.shortest:
                return None
            end = self.end_of(buffer)
            if len(buffer) < end:
                return None
            packet = self.decoded(bytes(buffer[:end])) if end else None
            if packet is not None:
                del buffer[:end]
                return packet
            self._drop(1)
        return None

    def _find_header(self) -> bool:
        """Bring a header to the front; keep last bytes that may be a part of one."""
        start = self._buffer.find(self.header)
        if start < 0:
            parts = (size for size in range(len(self.header) - 1, 0, -1) if self._buffer.endswith(self.header[:size]))
            self._drop(len(self._buffer) - next(parts, 0))
            return False
        self._drop(start)
        return True

    def _drop(self, count: int) -> None:
        del self._buffer[:count]
        self.discarded += count


class Parser(StreamParser):
    """Of requests in this protocol."""

    header = HEADER
    shortest = 4

    def end_of(self, buffer: bytearray) -> int:
        """See ``StreamParser``."""
        end = 4 + buffer[3]
        return end if buffer[2] != 0xFF and 6 <= end <= 4 + MAX_LENGTH else 0

    def decoded(self, whole: bytes) -> Packet | None:
        """See ``StreamParser``."""
        body = whole[2:-1]
        return Packet(body[0], body[2], body[3:]) if checksum(body) == whole[-1] else None
