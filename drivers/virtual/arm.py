"""Joins the servos' registers to the joints of the world, as the gearboxes do."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.joints import MOTORS, RANGES_RAD, from_ticks, to_ticks, to_units
from svm_robot.drivers.virtual.bus import Bus
from svm_robot.drivers.virtual.servo import Servo

FloatArray = NDArray[np.float32]

HOMING_OFFSETS = (96, -212, 154, -37, 301, -118)
"""How far each servo horn was mounted from the middle [counts]; no two arms agree, so neither is zero here."""


class ArmWorld(Protocol):
    """What the servos need of the world."""

    @property
    def time_s(self) -> float:
        """The world's own clock [s]."""

    def read_joints_rad(self) -> NDArray[np.float64]:
        """(6,) measured positions [rad]."""

    def command(self, targets: FloatArray) -> None:
        """(6,) absolute targets, robot units."""

    def torque(self, enabled: NDArray[np.bool_]) -> None:
        """(6,) True where the motor holds its target."""

    def load(self) -> FloatArray:
        """(6,) effort, -1..1 of the strongest."""


def factory_servos() -> list[Servo]:
    """Six calibrated servos, ids 1..6: offsets and limits as LeRobot's calibration would have written them."""
    limits = to_ticks(RANGES_RAD.T).T
    return [
        Servo(number, homing_offset=offset, limits=(int(low), int(high)))
        for number, (offset, (low, high)) in enumerate(zip(HOMING_OFFSETS, limits, strict=True), start=1)
    ]


def calibration() -> dict[str, dict[str, int]]:
    """LeRobot's calibration of these servos: motor -> the fields of its ``MotorCalibration``."""
    limits = to_ticks(RANGES_RAD.T).T
    return {
        motor: {
            "id": number,
            "drive_mode": 0,
            "homing_offset": offset,
            "range_min": int(low),
            "range_max": int(high),
        }
        for number, (motor, offset, (low, high)) in enumerate(zip(MOTORS, HOMING_OFFSETS, limits, strict=True), start=1)
    }


class ServoedArm:
    """Carries goals to the joints and measurements back, as often as it is asked to."""

    def __init__(self, world: ArmWorld, bus: Bus) -> None:
        self.world, self.bus = world, bus
        self._time_s = world.time_s
        self._ticks: NDArray[np.int64] = np.zeros(len(HOMING_OFFSETS), np.int64)
        self._goal: NDArray[np.int64] | None = None

    def exchange(self) -> None:
        """One turn of the servos' inner loop: world to registers, registers to world."""
        self.measure()
        with self.bus.lock:
            enabled = np.array([servo.torque and self.bus.alive(servo) for servo in self.bus.servos])
            goal = np.array([servo.target for servo in self.bus.servos], np.int64) - HOMING_OFFSETS
        self.world.torque(enabled)
        if self._goal is None or not np.array_equal(goal, self._goal):
            self.world.command(to_units(from_ticks(goal)))
            self._goal = goal

    def measure(self) -> None:
        """World to registers."""
        ticks = to_ticks(self.world.read_joints_rad()) + np.array(HOMING_OFFSETS, np.int64)
        passed = self.world.time_s - self._time_s
        velocity = (ticks - self._ticks) / passed if passed > 0 else np.zeros(len(ticks))
        load = self.world.load()
        with self.bus.lock:
            for servo, encoder, speed, effort in zip(self.bus.servos, ticks, velocity, load, strict=True):
                servo.measure(int(encoder), int(speed), float(effort))
        self._time_s, self._ticks = self.world.time_s, ticks

    def hold(self) -> None:
        """After the arm was put elsewhere (a reset): take that place as goal, so that it does not fly back."""
        self._time_s = self.world.time_s
        self.measure()
        with self.bus.lock:
            for servo in self.bus.servos:
                servo.hold()
        self._goal = None
