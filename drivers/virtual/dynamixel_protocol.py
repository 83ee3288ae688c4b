"""Robotis' protocol 2.0 from the servo's side: requests cut out of a stream, replies as bytes. Pure."""

from svm_robot.drivers.bus.protocol2 import HEADER, STATUS, crc16, packet, unstuffed
from svm_robot.drivers.virtual.protocol import Packet, StreamParser

MAX_LENGTH = 1024


def encode(reply: Packet) -> bytes:
    """A status packet: ``code`` is the error byte."""
    return packet(reply.servo_id, STATUS, bytes((reply.code,)) + reply.parameters)


class Parser2(StreamParser):
    """Of requests in this protocol."""

    header = HEADER
    shortest = 10

    def end_of(self, buffer: bytearray) -> int:
        """See ``StreamParser``."""
        length = buffer[5] | buffer[6] << 8
        return 7 + length if 3 <= length <= MAX_LENGTH else 0

    def decoded(self, whole: bytes) -> Packet | None:
        """See ``StreamParser``."""
        if crc16(whole[:-2]) != whole[-2] | whole[-1] << 8:
            return None
        return Packet(whole[4], whole[7], unstuffed(whole[8:-2]))
