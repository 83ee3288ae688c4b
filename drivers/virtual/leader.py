"""A leader arm that is not there: six servos on a serial port, moved by a script instead of a hand."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from svm_robot.drivers.joints import RANGES_RAD, to_radians, to_ticks
from svm_robot.drivers.virtual.arm import HOMING_OFFSETS, calibration
from svm_robot.drivers.virtual.bus import Bus
from svm_robot.drivers.virtual.servo import Servo
from svm_robot.drivers.virtual.wire import Wire

LEADER_ID = "virtual_leader"
"""LeRobot's ``id`` of this arm: its calibration is written under this name."""
OFFSETS = tuple(offset + 57 for offset in HOMING_OFFSETS)
"""Its horns sit elsewhere than the follower's, as on any two arms."""


class VirtualLeader:
    """``open`` gives it a port, ``pose`` puts its joints somewhere, ``close`` takes the port away."""

    def __init__(self, folder: Path, offsets: Sequence[int] = OFFSETS) -> None:
        """``folder``: where its calibration goes, for LeRobot's ``calibration_dir``."""
        self.folder, self.offsets = folder, tuple(offsets)
        limits = to_ticks(RANGES_RAD.T).T
        servos = [
            Servo(number, homing_offset=offset, limits=(int(low), int(high)))
            for number, (offset, (low, high)) in enumerate(zip(self.offsets, limits, strict=True), start=1)
        ]
        self.bus = Bus(servos)
        self.wire = Wire(self.bus)

    @property
    def port(self) -> str:
        """Path of its serial port; empty while closed."""
        return self.wire.port

    def open(self) -> None:
        """Answer on a port."""
        rows = {
            motor: {**row, "homing_offset": offset}
            for (motor, row), offset in zip(calibration().items(), self.offsets, strict=True)
        }
        (self.folder / f"{LEADER_ID}.json").write_text(json.dumps(rows))
        self.pose(np.zeros(len(self.offsets)))
        self.wire.open()

    def close(self) -> None:
        """Unplug; may be called twice."""
        self.wire.close()

    def pose(self, units: ArrayLike) -> None:
        """Put the joints there, (6,) robot units (degrees, gripper 0..100)."""
        ticks = to_ticks(to_radians(units)) + np.array(self.offsets)
        with self.bus.lock:
            for servo, encoder in zip(self.bus.servos, ticks, strict=True):
                servo.measure(int(encoder), 0, 0.0)
