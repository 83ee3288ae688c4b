"""The arms of a robot or teleoperator, with their ports open and nothing else done to them.

LeRobot's ``connect`` writes settings and switches torque; this does neither.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from svm_robot.drivers.bus.attach import attach, steady_owners
from svm_robot.drivers.bus.config import BusConfig


@dataclass(frozen=True)
class Arm:
    """One chain of motors behind our bus."""

    name: str
    """``robot``, ``teleop``, ``robot.left_arm``, ..."""
    device: Any
    """LeRobot's object that owns the bus."""

    @property
    def bus(self) -> Any:
        """Ours; LeRobot's interface."""
        return self.device.bus

    @property
    def port(self) -> str:
        """Path of its port."""
        return str(self.device.bus.port)

    @property
    def kind(self) -> str:
        """As LeRobot's options begin."""
        return self.name.partition(".")[0]


def arms_of(device: Any, kind: str, config: BusConfig) -> list[Arm]:
    """The arms inside an unconnected ``device`` whose motors we know; their buses become ours. ``kind``: see ``Arm``"""
    attach(device, dataclasses.replace(config, plain=False))
    return [Arm(name, owner) for name, owner in steady_owners(device, kind)]


def open_line(arm: Arm) -> None:
    """Open the port and say nothing on it. Raises ``DeviceError``."""
    arm.bus.connect(handshake=False)


def close_line(arm: Arm) -> None:
    """Give the port back; torque stays as it is."""
    if arm.bus.is_connected:
        arm.bus.disconnect(disable_torque=False)
