"""Robotis' protocol 2.0 from the servo's side: requests cut out of a stream, replies as bytes. Pure."""

from svm_robot.drivers.bus.protocol2 import HEADER, STATUS, crc16, packet, unstuffed
from svm_robot.drivers.virtual.protocol import Packet

MAX_LENGTH = 1024
SHORTEST = 10
"""Bytes of a request without parameters."""
REBOOT = 0x08


def encode(reply: Packet) -> bytes:
    """A status packet: ``code`` is the error byte."""
    return packet(reply.servo_id, STATUS, bytes((reply.code,)) + reply.parameters)


class Parser2:
    """See ``protocol.Parser``."""

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
        while (found := self._next()) is not None:
            packets.append(found)
        return packets

    def forget(self) -> None:
        """Drop a packet that has begun: its rest did not come in time."""
        self._drop(len(self._buffer))

    def _next(self) -> Packet | None:
        buffer = self._buffer
        while self._find_header():
            if len(buffer) < SHORTEST:
                return None
            length = buffer[5] | buffer[6] << 8
            end = 7 + length
            if not 3 <= length <= MAX_LENGTH:
                self._drop(1)
                continue
            if len(buffer) < end:
                return None
            if crc16(buffer[: end - 2]) != buffer[end - 2] | buffer[end - 1] << 8:
                self._drop(1)
                continue
            found = Packet(buffer[4], buffer[7], unstuffed(bytes(buffer[8 : end - 2])))
            del buffer[:end]
            return found
        return None

    def _find_header(self) -> bool:
        """Bring a header to the front; keep last bytes that may be a part of one."""
        start = self._buffer.find(HEADER)
        if start < 0:
            part = next((size for size in (3, 2, 1) if self._buffer.endswith(HEADER[:size])), 0)
            self._drop(len(self._buffer) - part)
            return False
        self._drop(start)
        return True

    def _drop(self, count: int) -> None:
        del self._buffer[:count]
        self.discarded += count
