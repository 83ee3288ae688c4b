"""What a chain of servos answers to a packet, and what can go wrong with an answer. Pure: no port, no clock."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from svm_robot.drivers.virtual.protocol import BROADCAST_ID, ErrorBit, Instruction, Packet, encode
from svm_robot.drivers.virtual.servo import STATUS_LEVEL, Servo

JUNK = b"\x00\xff\x17"
"""Stray bytes in front of a reply; the lone FF looks like half a header."""


@dataclass(frozen=True)
class WireFaults:
    """What goes wrong on the wire. Replies are counted from 1 since these faults were set; all off by default."""

    corrupt: Sequence[int] = ()
    """Replies whose checksum is wrong."""
    lose: Sequence[int] = ()
    """Replies that never come."""
    junk: Sequence[int] = ()
    """Replies with stray bytes in front."""
    dead: Sequence[int] = ()
    """Servo ids that do not answer (and whose motors are limp)."""
    errors: dict[int, int] = field(default_factory=dict)
    """Servo id -> error byte (``ErrorBit``) in each of its replies."""
    delay_s: float = 0.0
    """Every reply comes this much later [s]."""


class Bus:
    """Servos on one line. Every method may be called from any thread."""

    def __init__(self, servos: Iterable[Servo]) -> None:
        self.servos = tuple(servos)
        self.lock = threading.Lock()
        """Held by whoever reads or writes registers."""
        self.counts: dict[int, int] = {}
        """Instruction -> how many arrived."""
        self.faults = WireFaults()
        self._replies = 0

    def set_faults(self, faults: WireFaults) -> None:
        """From now on these, and no others. Raises ``ValueError`` for an id that no servo has."""
        with self.lock:
            known = {servo.servo_id for servo in self.servos}
            unknown = sorted({*faults.dead, *faults.errors} - known)
            if unknown:
                raise ValueError(f"no servo {', '.join(map(str, unknown))} on this bus; its ids are {sorted(known)}")
            self.faults, self._replies = faults, 0
            for servo in self.servos:
                servo.error = ErrorBit(faults.errors.get(servo.servo_id, 0))

    def alive(self, servo: Servo) -> bool:
        """False for a servo that the faults have killed."""
        return servo.servo_id not in self.faults.dead

    def answer(self, packet: Packet) -> bytes:
        """The bytes that all replies to ``packet`` put on the line; empty when nobody answers."""
        with self.lock:
            self.counts[packet.code] = self.counts.get(packet.code, 0) + 1
            return b"".join(self._spoil(encode(reply)) for reply in self._replies_to(packet))

    def _replies_to(self, packet: Packet) -> list[Packet]:
        match packet.code:
            case Instruction.SYNC_READ if len(packet.parameters) > 2:
                address, length = packet.parameters[:2]
                servos = [servo for servo_id in packet.parameters[2:] for servo in self._with_id(servo_id)]
                return [_reply(servo, servo.read(address, length)) for servo in servos]
            case Instruction.SYNC_WRITE if len(packet.parameters) > 2:
                self._sync_write(packet.parameters)
                return []
            case _:
                return [reply for servo in self._with_id(packet.servo_id) for reply in self._single(servo, packet)]

    def _with_id(self, servo_id: int) -> list[Servo]:
        return [s for s in self.servos if self.alive(s) and servo_id in (s.servo_id, BROADCAST_ID)]

    def _sync_write(self, parameters: bytes) -> None:
        address, length = parameters[:2]
        row = 1 + length
        for start in range(2, len(parameters) - length, row):
            for servo in self._with_id(parameters[start]):
                servo.write(address, parameters[start + 1 : start + row])

    def _single(self, servo: Servo, packet: Packet) -> list[Packet]:
        """Ping, read, write, reg write and action. A broadcast is obeyed by all and answered only when it is a ping."""
        data = packet.parameters
        match packet.code:
            case Instruction.PING:
                return [_reply(servo)]
            case Instruction.READ if len(data) == 2:
                return [_reply(servo, servo.read(*data))] if packet.servo_id != BROADCAST_ID else []
            case Instruction.WRITE if len(data) > 1:
                answers_to = servo.servo_id  # a write may change the id; the answer still bears the old one
                servo.write(data[0], data[1:])
                reply = Packet(answers_to, int(servo.error))
            case Instruction.REG_WRITE if len(data) > 1:
                servo.stage(data[0], data[1:])
                reply = _reply(servo)
            case Instruction.ACTION:
                servo.act()
                reply = _reply(servo)
            case _:
                return []
        return [reply] if packet.servo_id != BROADCAST_ID and servo.get(STATUS_LEVEL) > 0 else []

    def _spoil(self, reply: bytes) -> bytes:
        self._replies += 1
        if self._replies in self.faults.lose:
            return b""
        if self._replies in self.faults.corrupt:
            reply = reply[:-1] + bytes([reply[-1] ^ 0x55])
        return JUNK + reply if self._replies in self.faults.junk else reply


def _reply(servo: Servo, data: bytes = b"") -> Packet:
    return Packet(servo.servo_id, int(servo.error), data)
