"""Servos on one line, whatever they speak: who answers, in which order, and what goes wrong on the way. Pure."""

import threading
from collections.abc import Iterable
from typing import Protocol

from svm_robot.drivers.virtual.protocol import BROADCAST_ID, ErrorBit, Packet, StreamParser
from svm_robot.drivers.virtual.wire_faults import Spoiler, WireFaults


class AnyServo(Protocol):
    """What a chain needs of a servo."""

    @property
    def servo_id(self) -> int:
        """The id that it answers to now."""

    @property
    def error(self) -> int:
        """Its fault bits."""

    @error.setter
    def error(self, bits: int) -> None: ...


class Chain[S: AnyServo]:
    """Every method may be called from any thread. A protocol is a subclass."""

    def __init__(self, servos: Iterable[S]) -> None:
        """``servos``: two of them may have one id, by mistake."""
        self.servos = tuple(servos)
        self.lock = threading.Lock()
        """Held by whoever reads or writes registers."""
        self.counts: dict[int, int] = {}
        """Instruction -> how many arrived."""
        self.faults = WireFaults()
        self._spoiler = Spoiler(self.faults)

    def parser(self) -> StreamParser:
        """A fresh one for the bytes that hosts send."""
        raise NotImplementedError

    def encoded(self, reply: Packet) -> bytes:
        """The bytes of one reply."""
        raise NotImplementedError

    def replies_to(self, packet: Packet) -> list[Packet]:
        """What the servos do and say; called with the lock held."""
        raise NotImplementedError

    def set_faults(self, faults: WireFaults) -> None:
        """From now on these, and no others. Raises ``ValueError`` for an id that no servo has."""
        with self.lock:
            known = {servo.servo_id for servo in self.servos}
            unknown = sorted({*faults.dead, *faults.errors} - known)
            if unknown:
                raise ValueError(f"no servo {', '.join(map(str, unknown))} on this bus; its ids are {sorted(known)}")
            self.faults, self._spoiler = faults, Spoiler(faults)
            for servo in self.servos:
                servo.error = ErrorBit(faults.errors.get(servo.servo_id, 0))

    def alive(self, servo: S) -> bool:
        """False for a servo that the faults have killed."""
        return servo.servo_id not in self.faults.dead

    def answer(self, packet: Packet) -> bytes:
        """The bytes that all replies to ``packet`` put on the line; empty when nobody answers."""
        with self.lock:
            self.counts[packet.code] = self.counts.get(packet.code, 0) + 1
            return b"".join(self._spoiler.spoil(self.encoded(reply)) for reply in self.replies_to(packet))

    def late(self) -> list[bytes]:
        """Replies that the faults have kept back since the last call: they are to come ``faults.late_s`` later."""
        return self._spoiler.late()

    def with_id(self, servo_id: int) -> list[S]:
        """Those that hear a packet with this id."""
        return [s for s in self.servos if self.alive(s) and servo_id in (s.servo_id, BROADCAST_ID)]
