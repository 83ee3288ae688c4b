"""Six servos of each family behind a pseudo-terminal, and both buses for them: what the bus benchmarks compare."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lerobot.motors import Motor, MotorNormMode
from lerobot.motors.dynamixel import DynamixelMotorsBus
from lerobot.motors.feetech import FeetechMotorsBus

from svm_robot.drivers.bus.steady import SteadyDynamixelBus, SteadyFeetechBus
from svm_robot.drivers.joints import MOTORS
from svm_robot.drivers.virtual.bus import Bus
from svm_robot.drivers.virtual.chain import Chain
from svm_robot.drivers.virtual.dynamixel_bus import DynamixelBus
from svm_robot.drivers.virtual.dynamixel_servo import XServo
from svm_robot.drivers.virtual.servo import Servo


@dataclass(frozen=True)
class Family:
    """One kind of motor."""

    name: str
    model: str
    chain: Callable[[], Chain[Any]]
    theirs: Callable[..., Any]
    ours: Callable[..., Any]
    retries: int
    """``num_retry`` that LeRobot's own robot class gives to its group reads."""
    library: str

    def motors(self) -> dict[str, Motor]:
        """As a robot class names them."""
        return {name: Motor(number, self.model, MotorNormMode.DEGREES) for number, name in enumerate(MOTORS, start=1)}


FEETECH = Family(
    "STS3215",
    "sts3215",
    lambda: Bus(Servo(number) for number in range(1, 7)),
    FeetechMotorsBus,
    SteadyFeetechBus,
    retries=2,
    library="scservo_sdk",
)
DYNAMIXEL = Family(
    "XL330",
    "xl330-m288",
    lambda: DynamixelBus(XServo(number) for number in range(1, 7)),
    DynamixelMotorsBus,
    SteadyDynamixelBus,
    retries=0,
    library="dynamixel_sdk",
)


def families() -> list[Family]:
    """Those whose vendor library is installed: LeRobot's bus needs it, and so does ours."""
    return [family for family in (FEETECH, DYNAMIXEL) if importlib.util.find_spec(family.library) is not None]
