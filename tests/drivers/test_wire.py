"""LeRobot's motor bus, unmodified, on the pseudo-terminal."""

import os
import time
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from lerobot.motors import Motor, MotorCalibration, MotorNormMode
from lerobot.motors.feetech import FeetechMotorsBus

from svm_robot.drivers.joints import MOTORS, to_units
from svm_robot.drivers.shutdown import shut_down
from svm_robot.drivers.virtual import servo as layout
from svm_robot.drivers.virtual.arm import HOMING_OFFSETS, ServoedArm, calibration, factory_servos
from svm_robot.drivers.virtual.bus import Bus
from svm_robot.drivers.virtual.protocol import ErrorBit, Instruction
from svm_robot.drivers.virtual.wire import Wire
from svm_robot.drivers.virtual.wire_faults import WireFaults
from svm_robot.drivers.virtual.world import World


class IdealWorld:
    """Joints that are where they were told to be, one advance later; limp ones stay."""

    def __init__(self) -> None:
        self.time_s = 0.0
        self.radians = np.zeros(6)
        self.target = np.zeros(6, np.float32)
        self.enabled = np.zeros(6, bool)
        self.commands = 0

    def read_joints_rad(self) -> np.ndarray:
        return self.radians

    def command(self, targets: np.ndarray) -> None:
        self.target, self.commands = targets, self.commands + 1

    def torque(self, enabled: np.ndarray) -> None:
        self.enabled = enabled

    def load(self) -> np.ndarray:
        return np.full(6, 0.25, np.float32)


@pytest.fixture
def servos() -> Iterator[Bus]:
    bus = Bus(factory_servos())
    for servo, offset in zip(bus.servos, HOMING_OFFSETS, strict=True):
        servo.measure(2048 + offset, 0, 0.0)
    yield bus


@pytest.fixture
def wire(servos: Bus) -> Iterator[Wire]:
    made = Wire(servos)
    made.open()
    yield made
    made.close()


@pytest.fixture
def host(wire: Wire) -> Iterator[FeetechMotorsBus]:
    made = host_for(wire.port)
    usual = made.port_handler.setPacketTimeoutMillis
    made.port_handler.setPacketTimeoutMillis = lambda ms: usual(ms + 400)  # a busy machine is no dead servo
    made.port_handler.setPacketTimeout = lambda length: usual(400)
    made.connect()
    yield made
    if made.is_connected:
        wire.bus.set_faults(WireFaults())
        made.disconnect()


def host_for(port: str) -> FeetechMotorsBus:
    """As LeRobot's SO-101 driver makes it."""
    modes = dict.fromkeys(MOTORS, MotorNormMode.DEGREES) | {"gripper": MotorNormMode.RANGE_0_100}
    motors = {motor: Motor(number, "sts3215", modes[motor]) for number, motor in enumerate(MOTORS, start=1)}
    return FeetechMotorsBus(port, motors, {motor: MotorCalibration(**row) for motor, row in calibration().items()})


def test_handshake_finds_six_calibrated_servos(host: FeetechMotorsBus) -> None:
    assert host.broadcast_ping() == dict.fromkeys(range(1, 7), 777)
    assert host.is_calibrated


def test_positions_are_the_joints_degrees(host: FeetechMotorsBus, servos: Bus) -> None:
    middle = host.sync_read("Present_Position")
    assert middle["gripper"] == pytest.approx(50, abs=0.2)
    assert all(abs(middle[motor]) < 0.1 for motor in MOTORS[:5])
    servos.servos[1].measure(2048 + HOMING_OFFSETS[1] + 512, 0, 0.0)
    assert host.sync_read("Present_Position")["shoulder_lift"] == pytest.approx(45, abs=0.1)


def test_goals_reach_the_servos_and_stop_at_their_limits(host: FeetechMotorsBus, servos: Bus) -> None:
    host.sync_write("Goal_Position", {"shoulder_pan": 45.0, "elbow_flex": 720.0})
    host.ping("gripper")  # a sync write is not acknowledged: the next answer says that it has arrived
    assert servos.servos[0].target == pytest.approx(2048 + 512 + HOMING_OFFSETS[0], abs=1)
    assert servos.servos[2].target == calibration()["elbow_flex"]["range_max"] + HOMING_OFFSETS[2]


def test_torque_and_registers(host: FeetechMotorsBus, servos: Bus) -> None:
    host.configure_motors()
    host.enable_torque()
    assert all(servo.torque for servo in servos.servos)
    host.disable_torque("gripper")
    assert [servo.torque for servo in servos.servos] == [True] * 5 + [False]
    host.write("P_Coefficient", "wrist_roll", 16)
    assert host.read("P_Coefficient", "wrist_roll") == 16


def test_lerobot_can_calibrate_anew(host: FeetechMotorsBus, servos: Bus) -> None:
    host.disable_torque()
    servos.servos[0].measure(2000, 0, 0.0)
    host.reset_calibration()
    assert servos.servos[0].get(layout.HOMING_OFFSET) == 0
    offsets = host.set_half_turn_homings()
    servos.servos[0].measure(2000, 0, 0.0)
    assert offsets["shoulder_pan"] == 2000 - 2047
    assert servos.servos[0].get(layout.PRESENT_POSITION) == 2047
    host.write_calibration({motor: MotorCalibration(**row) for motor, row in calibration().items()})
    assert host.is_calibrated


def test_a_new_id_as_in_motor_setup(host: FeetechMotorsBus) -> None:
    host.disable_torque("gripper")
    host.write("ID", "gripper", 9)
    assert host.ping(9) == 777
    assert host.ping(6) is None
    host.disconnect(disable_torque=False)  # the host still believes in the old id


def test_a_dead_servo_is_an_error_and_limp(host: FeetechMotorsBus, servos: Bus) -> None:
    host.enable_torque()
    servos.set_faults(WireFaults(dead=(4,)))
    with pytest.raises(ConnectionError, match="no status packet"):
        host.sync_read("Present_Position")
    world = IdealWorld()
    ServoedArm(world, servos).exchange()
    assert world.enabled.tolist() == [True, True, True, False, True, True]


def test_one_bad_reply_is_survived_by_a_retry(host: FeetechMotorsBus, servos: Bus) -> None:
    for faults in (WireFaults(corrupt=(2,)), WireFaults(lose=(1,)), WireFaults(lose=(6,))):
        servos.set_faults(faults)
        with pytest.raises(ConnectionError):
            host.sync_read("Present_Position")
        host.port_handler.clearPort()
        servos.set_faults(faults)
        assert len(host.sync_read("Present_Position", num_retry=1)) == 6


def test_a_packet_that_was_cut_short_does_not_keep_the_motors_on(host: FeetechMotorsBus, servos: Bus) -> None:
    host.enable_torque()
    host.port_handler.is_using = True  # what a Ctrl-C between question and answer leaves behind
    robot = SimpleNamespace(bus=host, config=SimpleNamespace(), cameras={}, is_connected=False)
    assert shut_down(robot) == []
    assert not any(servo.torque for servo in servos.servos)


def test_junk_between_replies_is_skipped_by_the_host(host: FeetechMotorsBus, servos: Bus) -> None:
    servos.set_faults(WireFaults(junk=(1,)))
    assert host.read("Model_Number", "gripper", normalize=False) == 777


def test_an_overload_is_told(host: FeetechMotorsBus, servos: Bus) -> None:
    servos.set_faults(WireFaults(errors={3: int(ErrorBit.OVERLOAD)}))
    with pytest.raises(RuntimeError, match="Overload"):
        host.read("Present_Position", "elbow_flex")


def test_late_replies_and_wire_time(servos: Bus) -> None:
    for wire_time, faults, least_s in ((True, WireFaults(), 0.0008), (False, WireFaults(delay_s=0.01), 0.01)):
        wire = Wire(servos, wire_time=wire_time)
        wire.open()
        servos.set_faults(faults)
        host = host_for(wire.port)
        host.connect(handshake=False)
        begun = time.perf_counter()
        host.sync_read("Present_Position")
        took_s = time.perf_counter() - begun
        host.disconnect(disable_torque=False)
        wire.close()
        assert took_s > least_s


def test_the_port_can_be_opened_again_and_is_gone_after_close(servos: Bus) -> None:
    wire = Wire(servos)
    wire.open()
    wire.open()
    port = wire.port
    for _ in range(2):
        host = host_for(port)
        host.connect()
        host.disconnect(disable_torque=False)
    wire.close()
    wire.close()
    assert wire.port == ""
    assert not os.path.exists(port)  # noqa: PTH110


def test_a_torn_packet_is_forgotten(wire: Wire) -> None:
    descriptor = os.open(wire.port, os.O_RDWR | os.O_NOCTTY)
    os.write(descriptor, b"\xff\xff\x01\xf0\x03")
    time.sleep(0.1)
    os.write(descriptor, bytes.fromhex("ffff010201fb"))
    assert os.read(descriptor, 6) == bytes.fromhex("ffff010200fc")
    os.close(descriptor)
    assert wire.bus.counts == {Instruction.PING: 1}


def test_the_arm_carries_goals_measurements_and_torque(servos: Bus) -> None:
    world = IdealWorld()
    arm = ServoedArm(world, servos)
    world.radians = np.array([0.5, -0.5, 0.2, 0.0, 1.0, 0.4])
    arm.hold()
    arm.exchange()
    assert not world.enabled.any()
    np.testing.assert_allclose(world.target, to_units(world.radians), atol=0.1)
    servos.servos[0].write(layout.TORQUE_ENABLE.address, b"\x01")
    goal = layout.to_word(2048, layout.GOAL_POSITION)
    servos.servos[0].write(layout.GOAL_POSITION.address, goal)
    arm.exchange()
    assert world.enabled.tolist() == [True] + [False] * 5
    assert world.target[0] == pytest.approx(0.0)
    sent = world.commands
    arm.exchange()
    assert world.commands == sent, "an unchanged goal is not sent again"
    world.time_s += 0.1
    world.radians = world.radians + np.array([0.1, 0, 0, 0, 0, 0])
    arm.measure()
    assert servos.servos[0].get(layout.PRESENT_VELOCITY) == pytest.approx(0.1 / 0.1 * 4096 / (2 * np.pi), abs=15)
    assert servos.servos[0].get(layout.PRESENT_LOAD) == 250


def test_the_wire_reads_the_degrees_of_lockstep(host: FeetechMotorsBus, servos: Bus) -> None:
    world = World()
    arm = ServoedArm(world, servos)
    worst = 0.0
    for seed in range(20):
        world.reset(seed)
        arm.hold()
        read = host.sync_read("Present_Position")
        worst = max(worst, float(np.max(np.abs(np.array([read[motor] for motor in MOTORS]) - world.read_joints()))))
    world.close()
    assert worst < 0.1
