"""What a chain of Dynamixel X servos answers to a packet of protocol 2.0. Pure: no port, no clock."""

from svm_robot.drivers.bus.protocol2 import REBOOT
from svm_robot.drivers.virtual.chain import Chain
from svm_robot.drivers.virtual.dynamixel_protocol import Parser2, encode
from svm_robot.drivers.virtual.dynamixel_servo import FIRMWARE, MODEL, STATUS_LEVEL, XServo
from svm_robot.drivers.virtual.protocol import BROADCAST_ID, Instruction, Packet


class DynamixelBus(Chain[XServo]):
    """In its faults, ``errors`` are hardware errors."""

    def parser(self) -> Parser2:
        """See ``Chain``."""
        return Parser2()

    def encoded(self, reply: Packet) -> bytes:
        """See ``Chain``."""
        return encode(reply)

    def replies_to(self, packet: Packet) -> list[Packet]:
        """See ``Chain``."""
        data = packet.parameters
        match packet.code:
            case Instruction.SYNC_READ if len(data) > 4:
                address, length = _word(data), _word(data[2:])
                servos = [servo for servo_id in data[4:] for servo in self.with_id(servo_id)]
                return [_reply(servo, data=servo.read(address, length)) for servo in servos]
            case Instruction.SYNC_WRITE if len(data) > 4:
                self._sync_write(data)
                return []
            case _:
                return [reply for servo in self.with_id(packet.servo_id) for reply in self._single(servo, packet)]

    def _sync_write(self, parameters: bytes) -> None:
        address, length = _word(parameters), _word(parameters[2:])
        row = 1 + length
        for start in range(4, len(parameters) - length, row):
            for servo in self.with_id(parameters[start]):
                servo.write(address, parameters[start + 1 : start + row])

    def _single(self, servo: XServo, packet: Packet) -> list[Packet]:
        """Ping, read, write, reg write, action and reboot. A broadcast is answered only when it is a ping."""
        data, level = packet.parameters, 2
        answers_to = servo.servo_id  # a write may change the id; the answer still bears the old one
        error = 0
        match packet.code:
            case Instruction.PING:
                return [_reply(servo, data=servo.read(MODEL.address, 2) + servo.read(FIRMWARE.address, 1))]
            case Instruction.READ if len(data) == 4:
                reply = _reply(servo, data=servo.read(_word(data), _word(data[2:])))
                level = 1
            case Instruction.WRITE if len(data) > 2:
                error = servo.write(_word(data), data[2:])
                reply = Packet(answers_to, servo.alert | error)
            case Instruction.REG_WRITE if len(data) > 2:
                servo.stage(_word(data), data[2:])
                reply = _reply(servo)
            case Instruction.ACTION:
                servo.act()
                reply = _reply(servo)
            case _ if packet.code == REBOOT:
                servo.reboot()
                reply = _reply(servo)
            case _:
                return []
        return [reply] if packet.servo_id != BROADCAST_ID and servo.get(STATUS_LEVEL) >= level else []


def _word(data: bytes) -> int:
    return data[0] | data[1] << 8


def _reply(servo: XServo, data: bytes = b"") -> Packet:
    return Packet(servo.servo_id, servo.alert, data)
