"""A serial line that follows a script, a clock that nobody waits for, and chains of servos behind a wire."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lerobot.motors import Motor, MotorCalibration, MotorNormMode

from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.bus.line import LineGone
from svm_robot.drivers.joints import MOTORS
from svm_robot.drivers.virtual.arm import HOMING_OFFSETS, calibration, factory_servos
from svm_robot.drivers.virtual.bus import Bus
from svm_robot.drivers.virtual.chain import Chain
from svm_robot.drivers.virtual.dynamixel_bus import DynamixelBus
from svm_robot.drivers.virtual.dynamixel_servo import XL330, XL430, XServo
from svm_robot.drivers.virtual.wire import Wire

PATIENT = BusConfig(retries=3, reply_timeout_s=0.15, deadline_s=3.0, max_joint_age_s=5.0, limp_check_s=0.0)
"""For a busy machine, where a process may pause for longer than any servo does."""
MODES = dict.fromkeys(MOTORS, MotorNormMode.DEGREES) | {"gripper": MotorNormMode.RANGE_0_100}

Step = str | float
"""Bytes in hex that arrive, or a silence [s]."""


class ToyClock:
    """Moves only when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def now_s(self) -> float:
        return self.now

    def sleep_until_s(self, moment_s: float) -> None:
        self.now = max(self.now, moment_s)


class ScriptedLine:
    """(sent, replies) pairs: each request must be the next one, and each reply arrives in its steps."""

    def __init__(self, clock: ToyClock, pairs: Sequence[tuple[str, Sequence[Step]]]) -> None:
        self.clock, self.pairs = clock, list(pairs)
        self.coming: list[Step] = []
        self.gone = False

    def write(self, data: bytes) -> None:
        if self.gone:
            raise LineGone("Input/output error")
        assert self.pairs, f"nobody expected {data.hex(' ')}"
        sent, replies = self.pairs.pop(0)
        assert data.hex(" ") == sent
        self.coming += replies

    def read(self, patience_s: float) -> bytes:
        if self.gone:
            raise LineGone("it hung up")
        patience_s = max(0.0, patience_s)
        while self.coming:
            step = self.coming.pop(0)
            if isinstance(step, str):
                return bytes.fromhex(step)
            waited = min(step, patience_s)
            self.clock.now += waited
            patience_s -= waited
            if step > waited or not patience_s:
                self.coming.insert(0, step - waited)
                return b""
        self.clock.now += patience_s
        return b""

    def check(self) -> None:
        """Everything was asked and everything was heard."""
        assert not self.pairs, f"never sent: {self.pairs}"
        assert not self.coming, f"never read: {self.coming}"


def feetech_chain() -> Bus:
    """Six calibrated STS3215 in the middle of their ranges."""
    bus = Bus(factory_servos())
    for servo, offset in zip(bus.servos, HOMING_OFFSETS, strict=True):
        servo.measure(2048 + offset, 0, 0.0)
    return bus


def feetech_arm() -> tuple[dict[str, Motor], dict[str, MotorCalibration]]:
    """Motors and calibration, as LeRobot's SO-101 driver makes them."""
    motors = {name: Motor(number, "sts3215", MODES[name]) for number, name in enumerate(MOTORS, start=1)}
    return motors, {name: MotorCalibration(**row) for name, row in calibration().items()}


def koch_chain() -> DynamixelBus:
    """The six servos of a Koch arm; each is at its goal at once."""
    servos = [XServo(number, XL430 if number < 3 else XL330, homing_offset=7 * number) for number in range(1, 7)]
    for servo in servos:
        servo.prompt = True
    return DynamixelBus(servos)


def koch_arm() -> tuple[dict[str, Motor], dict[str, MotorCalibration]]:
    """Motors and calibration, as LeRobot's Koch driver makes them."""
    models = ["xl430-w250"] * 2 + ["xl330-m288"] * 4
    motors = {
        name: Motor(number, model, MODES[name])
        for number, (name, model) in enumerate(zip(MOTORS, models, strict=True), start=1)
    }
    return motors, {name: MotorCalibration(n, 0, 7 * n, 0, 4095) for n, name in enumerate(MOTORS, start=1)}


@contextmanager
def served(chain: Chain[Any]) -> Iterator[Wire]:
    """The chain on a port."""
    wire = Wire(chain)
    wire.open()
    try:
        yield wire
    finally:
        wire.close()
