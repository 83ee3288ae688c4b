"""The register file of one servo."""

import pytest

from svm_robot.drivers.virtual import servo as layout
from svm_robot.drivers.virtual.protocol import ErrorBit
from svm_robot.drivers.virtual.servo import Register, Servo, from_word, to_word


@pytest.mark.parametrize(
    ("value", "register", "data"),
    [
        (0, layout.HOMING_OFFSET, "0000"),
        (1, layout.HOMING_OFFSET, "0100"),
        (-1, layout.HOMING_OFFSET, "0108"),
        (-2047, layout.HOMING_OFFSET, "ff0f"),
        (-300, layout.PRESENT_POSITION, "2c81"),
        (1000, layout.PRESENT_LOAD, "e803"),
        (-1000, layout.PRESENT_LOAD, "e807"),
        (4095, layout.MAX_POSITION, "ff0f"),
        (200, Register(35, 1), "c8"),
    ],
)
def test_words_are_little_endian_sign_magnitude(value: int, register: Register, data: str) -> None:
    assert to_word(value, register).hex() == data
    assert from_word(bytes.fromhex(data), register) == value


@pytest.mark.parametrize(
    ("value", "register"),
    [(2048, layout.HOMING_OFFSET), (-2048, layout.HOMING_OFFSET), (256, Register(35, 1)), (-1, layout.MAX_POSITION)],
)
def test_values_that_do_not_fit_are_refused(value: int, register: Register) -> None:
    with pytest.raises(ValueError, match="does not fit into the register"):
        to_word(value, register)


def test_a_new_servo_has_what_a_host_looks_for() -> None:
    servo = Servo(4, homing_offset=-212, limits=(900, 3100))
    assert servo.read(3, 2) == (777).to_bytes(2, "little")
    assert servo.servo_id == 4
    assert servo.get(layout.HOMING_OFFSET) == -212
    assert (servo.get(layout.MIN_POSITION), servo.get(layout.MAX_POSITION)) == (900, 3100)
    assert not servo.torque


def test_present_position_is_encoder_minus_offset_on_one_turn() -> None:
    servo = Servo(1, homing_offset=100)
    servo.measure(2148, -30, 0.5)
    assert servo.get(layout.PRESENT_POSITION) == 2048
    assert servo.get(layout.PRESENT_VELOCITY) == -30
    servo.measure(50, 0, 0.0)
    assert servo.get(layout.PRESENT_POSITION) == 4046
    servo.write(layout.HOMING_OFFSET.address, to_word(-100, layout.HOMING_OFFSET))
    servo.measure(2148, 0, 0.0)
    assert servo.get(layout.PRESENT_POSITION) == 2248


def test_load_and_current_show_only_while_the_motor_holds() -> None:
    servo = Servo(1)
    servo.measure(2048, 0, -0.5)
    assert servo.get(layout.PRESENT_LOAD) == 0
    servo.write(layout.TORQUE_ENABLE.address, b"\x01")
    servo.measure(2048, 0, -0.5)
    assert servo.get(layout.PRESENT_LOAD) == -500
    assert servo.get(layout.PRESENT_CURRENT) == 200
    servo.measure(2048, 0, -7.0)
    assert servo.get(layout.PRESENT_LOAD) == -1000


def test_switching_torque_on_holds_the_present_position() -> None:
    servo = Servo(1)
    servo.write(layout.GOAL_POSITION.address, to_word(100, layout.GOAL_POSITION))
    servo.measure(3000, 0, 0.0)
    servo.write(layout.TORQUE_ENABLE.address, b"\x01")
    assert servo.get(layout.GOAL_POSITION) == 3000
    servo.write(layout.GOAL_POSITION.address, to_word(2500, layout.GOAL_POSITION))
    servo.write(layout.TORQUE_ENABLE.address, b"\x01")
    assert servo.get(layout.GOAL_POSITION) == 2500, "it was on already"


def test_the_target_stays_inside_the_limits_and_carries_the_offset() -> None:
    servo = Servo(1, homing_offset=-10, limits=(1000, 3000))
    for goal, target in ((2000, 1990), (3500, 2990), (-200, 990), (10237, 2990)):
        servo.write(layout.GOAL_POSITION.address, to_word(goal, layout.GOAL_POSITION))
        assert servo.target == target


def test_read_only_registers_and_the_end_of_memory() -> None:
    servo = Servo(1)
    servo.measure(1234, 0, 0.0)
    servo.write(layout.PRESENT_POSITION.address, b"\x00\x00")
    servo.write(3, b"\x00\x00")
    assert servo.get(layout.PRESENT_POSITION) == 1234
    assert servo.read(3, 2) == (777).to_bytes(2, "little")
    servo.write(255, b"\x01\x02")
    assert servo.read(254, 4) == b"\x00\x01\x00\x00"


def test_staged_writes_wait() -> None:
    servo = Servo(1)
    servo.stage(layout.GOAL_POSITION.address, to_word(1500, layout.GOAL_POSITION))
    assert servo.get(layout.GOAL_POSITION) == 2048
    servo.act()
    assert servo.get(layout.GOAL_POSITION) == 1500
    servo.write(layout.GOAL_POSITION.address, to_word(1600, layout.GOAL_POSITION))
    servo.act()
    assert servo.get(layout.GOAL_POSITION) == 1600, "an action is used up"


def test_power_cycle_keeps_what_was_written_with_the_lock_open() -> None:
    servo = Servo(1)
    servo.write(layout.LOCK.address, b"\x00")
    servo.write(layout.HOMING_OFFSET.address, to_word(77, layout.HOMING_OFFSET))
    servo.write(layout.LOCK.address, b"\x01")
    servo.write(layout.MIN_POSITION.address, to_word(500, layout.MIN_POSITION))
    servo.write(layout.TORQUE_ENABLE.address, b"\x01")
    servo.measure(2077, 0, 0.0)
    servo.power_cycle()
    assert servo.get(layout.HOMING_OFFSET) == 77
    assert servo.get(layout.MIN_POSITION) == 0
    assert not servo.torque
    assert servo.get(layout.PRESENT_POSITION) == 2000
    assert servo.get(layout.GOAL_POSITION) == 2000


def test_status_shows_the_error() -> None:
    servo = Servo(1)
    servo.error = ErrorBit.OVERHEAT | ErrorBit.OVERLOAD
    servo.measure(2048, 0, 0.0)
    assert servo.get(layout.STATUS) == 36
