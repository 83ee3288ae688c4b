"""The Dynamixel chain byte by byte: what a host sends, what the servos answer, and what they refuse."""

import pytest

from svm_robot.drivers.bus.protocol2 import Protocol2, packet
from svm_robot.drivers.virtual import dynamixel_servo as layout
from svm_robot.drivers.virtual.dynamixel_bus import DynamixelBus
from svm_robot.drivers.virtual.dynamixel_servo import XServo
from svm_robot.drivers.virtual.wire_faults import WireFaults

CODEC = Protocol2()
PING, REG_WRITE, ACTION, BROADCAST = 0x01, 0x04, 0x05, 0xFE


@pytest.fixture
def bus() -> DynamixelBus:
    return DynamixelBus([XServo(1, layout.XL430), XServo(2, homing_offset=-5, limits=(1000, 3000))])


def converse(bus: DynamixelBus, *requests: bytes) -> list[str]:
    parser = bus.parser()
    packets = [p for request in requests for p in parser.feed(request)]
    assert not parser.pending, "bytes left over"
    return [bus.answer(p).hex(" ") for p in packets]


def status(servo_id: int, error: int = 0, data: bytes = b"") -> str:
    return packet(servo_id, 0x55, bytes((error,)) + data).hex(" ")


def test_ping_as_in_the_manual(bus: DynamixelBus) -> None:
    """Robotis' example, with this servo's model and firmware."""
    assert converse(bus, bytes.fromhex("fffffd000103000119 4e".replace(" ", ""))) == [status(1, 0, b"\x24\x04\x2e")]
    assert converse(bus, packet(9, PING, b"")) == [""]
    both = f"{status(1, 0, bytes.fromhex('24042e'))} {status(2, 0, bytes.fromhex('b0042e'))}"
    assert converse(bus, packet(BROADCAST, PING, b"")) == [both]


def test_reads_and_writes(bus: DynamixelBus) -> None:
    assert converse(bus, CODEC.read(2, 132, 4)) == [status(2, 0, (2043).to_bytes(4, "little"))]
    assert converse(bus, CODEC.read(2, 20, 4)) == [status(2, 0, b"\xfb\xff\xff\xff")]
    assert converse(bus, CODEC.write(1, 65, b"\x01"), CODEC.read(1, 65, 1)) == [status(1), status(1, 0, b"\x01")]
    assert converse(bus, CODEC.write(BROADCAST, 65, b"\x00"), CODEC.read(BROADCAST, 65, 1)) == ["", ""]


def test_groups(bus: DynamixelBus) -> None:
    rows = {1: (2000).to_bytes(4, "little"), 2: (2100).to_bytes(4, "little")}
    assert converse(bus, CODEC.group_write(116, rows)) == [""]
    answer = f"{status(2, 0, rows[2])} {status(1, 0, rows[1])}"
    assert converse(bus, CODEC.group_read([2, 1], 116, 4)) == [answer]


def test_a_registered_write_waits_for_the_action(bus: DynamixelBus) -> None:
    request = packet(1, REG_WRITE, b"\x74\x00" + (1500).to_bytes(4, "little"))
    assert converse(bus, request) == [status(1)]
    assert bus.servos[0].get(layout.GOAL_POSITION) == 2048
    assert converse(bus, packet(BROADCAST, ACTION, b"")) == [""]
    assert bus.servos[0].get(layout.GOAL_POSITION) == 1500


def test_what_a_servo_refuses(bus: DynamixelBus) -> None:
    on = CODEC.write(2, 64, b"\x01")
    assert converse(bus, on, CODEC.write(2, 11, b"\x04")) == [status(2), status(2, layout.ACCESS)]
    assert converse(bus, CODEC.write(2, 132, b"\0\0\0\0")) == [status(2, layout.ACCESS)]
    far = (3500).to_bytes(4, "little")
    assert converse(bus, CODEC.write(2, 116, far)) == [status(2, layout.DATA_LIMIT)]
    assert bus.servos[1].get(layout.GOAL_POSITION) == 2043
    off = CODEC.write(2, 64, b"\x00")
    extended = CODEC.write(2, 11, b"\x04")
    assert converse(bus, off, extended, CODEC.write(2, 116, far)) == [status(2)] * 3


def test_an_overload_switches_off_and_only_a_reboot_ends_it(bus: DynamixelBus) -> None:
    converse(bus, CODEC.write(1, 64, b"\x01"))
    bus.set_faults(WireFaults(errors={1: 32}))
    assert not bus.servos[0].torque
    assert converse(bus, CODEC.write(1, 64, b"\x01")) == [status(1, layout.ALERT)]
    assert not bus.servos[0].torque
    assert converse(bus, CODEC.read(1, 70, 1)) == [status(1, layout.ALERT, b"\x20")]
    assert converse(bus, CODEC.reboot(1), CODEC.read(1, 70, 1)) == [status(1), status(1, 0, b"\0")]
    converse(bus, CODEC.write(1, 64, b"\x01"))
    assert bus.servos[0].torque


def test_a_voltage_error_is_told_and_the_motor_holds(bus: DynamixelBus) -> None:
    converse(bus, CODEC.write(1, 64, b"\x01"))
    bus.set_faults(WireFaults(errors={1: 1}))
    assert bus.servos[0].torque


def test_turns_are_counted_and_forgotten_at_a_reboot(bus: DynamixelBus) -> None:
    servo = bus.servos[1]
    servo.measure(3 * 4096 + 100, 0, 0)
    assert servo.get(layout.PRESENT_POSITION) == 3 * 4096 + 95
    servo.measure(-10, 0, 0)
    assert servo.get(layout.PRESENT_POSITION) == -15
    servo.reboot()
    assert servo.get(layout.PRESENT_POSITION) == 4086 - 5


def test_the_eeprom_is_kept_and_the_ram_is_not(bus: DynamixelBus) -> None:
    converse(bus, CODEC.write(1, 20, b"\x07\0\0\0"), CODEC.write(1, 84, b"\x01\x02"))
    bus.servos[0].reboot()
    assert bus.servos[0].get(layout.HOMING_OFFSET) == 7
    assert bus.servos[0].read(84, 2) == (400).to_bytes(2, "little")


def test_junk_and_damage_before_a_request(bus: DynamixelBus) -> None:
    parser = bus.parser()
    damaged = bytearray(CODEC.read(1, 65, 1))
    damaged[-1] ^= 1
    good = CODEC.read(1, 65, 1)
    assert [p.servo_id for p in parser.feed(b"\x00\xff\xff" + bytes(damaged) + good)] == [1]
    assert parser.discarded > len(damaged)
    assert parser.feed(good[:5]) == [] and parser.pending
    parser.forget()
    assert not parser.pending
