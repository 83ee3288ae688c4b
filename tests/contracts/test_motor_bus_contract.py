"""What LeRobot's robots expect of a motor bus: LeRobot's own and ours, each on its chain of servos over the wire."""

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from bus_toys import PATIENT, feetech_arm, feetech_chain, koch_arm, koch_chain, served
from lerobot.motors import MotorCalibration
from lerobot.motors.dynamixel import DynamixelMotorsBus
from lerobot.motors.feetech import FeetechMotorsBus

from svm_robot.drivers.bus.steady import SteadyDynamixelBus, SteadyFeetechBus
from svm_robot.drivers.joints import MOTORS
from svm_robot.drivers.virtual.chain import Chain
from svm_robot.drivers.virtual.wire import Wire

Arm = tuple[dict[str, Any], dict[str, MotorCalibration]]


@dataclass(frozen=True)
class Row:
    """One bus under test."""

    chain: Callable[[], Chain[Any]]
    arm: Callable[[], Arm]
    make: Callable[..., Any]
    models: tuple[int, ...]
    homing_sign: int
    """Present position = encoder + sign * offset."""
    needs: str


def patient(kind: Callable[..., Any]) -> Callable[..., Any]:
    """LeRobot's bus with more time for an answer: a busy machine is no dead servo."""

    def make(port: str, *arm: Any) -> Any:
        bus = kind(port, *arm)
        usual = bus.port_handler.setPacketTimeoutMillis
        bus.port_handler.setPacketTimeoutMillis = lambda ms: usual(ms + 400)
        bus.port_handler.setPacketTimeout = lambda length: usual(400)
        return bus

    return make


def steady(kind: Callable[..., Any]) -> Callable[..., Any]:
    return lambda port, *arm: kind(port, *arm, config=PATIENT)


STS, X = (777,) * 6, (1060,) * 2 + (1200,) * 4
ROWS = {
    "LeRobot Feetech": Row(feetech_chain, feetech_arm, patient(FeetechMotorsBus), STS, -1, "scservo_sdk"),
    "steady Feetech": Row(feetech_chain, feetech_arm, steady(SteadyFeetechBus), STS, -1, "scservo_sdk"),
    "LeRobot Dynamixel": Row(koch_chain, koch_arm, patient(DynamixelMotorsBus), X, 1, "dynamixel_sdk"),
    "steady Dynamixel": Row(koch_chain, koch_arm, steady(SteadyDynamixelBus), X, 1, "dynamixel_sdk"),
}


@pytest.fixture(params=list(ROWS))
def row(request: pytest.FixtureRequest) -> Row:
    found = ROWS[request.param]
    if importlib.util.find_spec(found.needs) is None:
        pytest.skip(f"{found.needs} is not installed")
    return found


@pytest.fixture
def wire(row: Row) -> Iterator[Wire]:
    with served(row.chain()) as made:
        yield made


@pytest.fixture
def bus(row: Row, wire: Wire) -> Iterator[Any]:
    made = row.make(wire.port, *row.arm())
    made.connect()
    yield made
    if made.is_connected:
        made.disconnect(disable_torque=False)


def test_everybody_is_there(bus: Any, row: Row) -> None:
    assert tuple(bus.ping(motor) for motor in MOTORS) == row.models
    assert bus.ping(9) is None
    assert bus.broadcast_ping() == dict(enumerate(row.models, start=1))


def test_the_calibration_is_read_and_compared(bus: Any, row: Row) -> None:
    assert bus.is_calibrated
    assert bus.read_calibration() == row.arm()[1]
    bus.write("Min_Position_Limit", "gripper", 12)
    assert not bus.is_calibrated


def test_positions(bus: Any, row: Row, wire: Wire) -> None:
    raw = bus.sync_read("Present_Position", normalize=False)
    assert list(raw) == list(MOTORS)
    wire.bus.servos[1].measure(1000 - row.homing_sign * row.arm()[1]["shoulder_lift"].homing_offset, 0, 0)
    assert bus.sync_read("Present_Position", "shoulder_lift", normalize=False) == {"shoulder_lift": 1000}
    assert bus.read("Present_Position", "shoulder_lift", normalize=False) == 1000
    calibration = row.arm()[1]["shoulder_lift"]
    middle = (calibration.range_min + calibration.range_max) / 2
    degrees = bus.sync_read("Present_Position")["shoulder_lift"]
    assert degrees == pytest.approx((1000 - middle) * 360 / 4095)


def test_goals_reach_the_servos(bus: Any, row: Row, wire: Wire) -> None:
    bus.enable_torque()
    bus.sync_write("Goal_Position", {"shoulder_pan": 2100, "gripper": 2200}, normalize=False)
    bus.ping("gripper")  # a sync write is not acknowledged: the next answer says that it has arrived
    for motor, goal in (("shoulder_pan", 2100), ("gripper", 2200)):
        calibration = row.arm()[1][motor]
        assert wire.bus.servos[calibration.id - 1].target == goal - row.homing_sign * calibration.homing_offset


def test_torque(bus: Any, wire: Wire) -> None:
    bus.enable_torque()
    assert all(servo.torque for servo in wire.bus.servos)
    with bus.torque_disabled("gripper"):
        assert [servo.torque for servo in wire.bus.servos] == [True] * 5 + [False]
    assert wire.bus.servos[5].torque
    bus.disconnect()
    assert not any(servo.torque for servo in wire.bus.servos)


def test_values_that_do_not_fit_are_refused_before_a_byte_is_sent(bus: Any, wire: Wire) -> None:
    counts = dict(wire.bus.counts)
    for value in (1 << 33, -(1 << 40)):
        with pytest.raises(ValueError):
            bus.sync_write("Goal_Position", {"gripper": value}, normalize=False)
        with pytest.raises(ValueError):
            bus.write("Goal_Position", "gripper", value, normalize=False)
    assert wire.bus.counts == counts


@pytest.mark.parametrize("value", [0, 1, -1, 1810, -1810, 2047, -2047])
def test_signed_words_survive_the_round_trip(bus: Any, value: int) -> None:
    bus.write("Homing_Offset", "elbow_flex", value)
    assert bus.read("Homing_Offset", "elbow_flex") == value
    bus.write("Goal_Velocity", "elbow_flex", value)
    assert bus.sync_read("Goal_Velocity", "elbow_flex") == {"elbow_flex": value}


def test_lerobot_can_calibrate_anew(bus: Any, row: Row, wire: Wire) -> None:
    bus.disable_torque()
    wire.bus.servos[0].measure(2000, 0, 0)
    bus.reset_calibration()
    offsets = bus.set_half_turn_homings()
    wire.bus.servos[0].measure(2000, 0, 0)
    assert offsets["shoulder_pan"] == row.homing_sign * (2047 - 2000)
    assert bus.sync_read("Present_Position", normalize=False)["shoulder_pan"] == 2047
    bus.write_calibration(row.arm()[1])
    assert bus.is_calibrated


def test_a_new_id_as_in_motor_setup(bus: Any) -> None:
    bus.disable_torque("gripper")
    bus.write("ID", "gripper", 9)
    assert bus.ping(9) is not None
    assert bus.ping(6) is None


def test_the_port_can_be_opened_again(bus: Any) -> None:
    for _ in range(2):
        bus.disconnect()
        assert not bus.is_connected
        bus.connect()
    assert len(bus.sync_read("Present_Position")) == 6
