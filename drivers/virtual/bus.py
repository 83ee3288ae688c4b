"""What a chain of STS servos answers to a packet of Feetech's protocol. Pure: no port, no clock."""

from svm_robot.drivers.virtual.chain import Chain
from svm_robot.drivers.virtual.protocol import BROADCAST_ID, Instruction, Packet, Parser, encode
from svm_robot.drivers.virtual.servo import STATUS_LEVEL, Servo


class Bus(Chain[Servo]):
    """Servos on one line. Every method may be called from any thread."""

    def parser(self) -> Parser:
        """See ``Chain``."""
        return Parser()

    def encoded(self, reply: Packet) -> bytes:
        """See ``Chain``."""
        return encode(reply)

    def replies_to(self, packet: Packet) -> list[Packet]:
        """See ``Chain``."""
        match packet.code:
            case Instruction.SYNC_READ if len(packet.parameters) > 2:
                address, length = packet.parameters[:2]
                servos = [servo for servo_id in packet.parameters[2:] for servo in self.with_id(servo_id)]
                return [_reply(servo, servo.read(address, length)) for servo in servos]
            case Instruction.SYNC_WRITE if len(packet.parameters) > 2:
                self._sync_write(packet.parameters)
                return []
            case _:
                return [reply for servo in self.with_id(packet.servo_id) for reply in self._single(servo, packet)]

    def _sync_write(self, parameters: bytes) -> None:
        address, length = parameters[:2]
        row = 1 + length
        for start in range(2, len(parameters) - length, row):
            for servo in self.with_id(parameters[start]):
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


def _reply(servo: Servo, data: bytes = b"") -> Packet:
    return Packet(servo.servo_id, int(servo.error), data)
