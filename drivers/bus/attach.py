"""Puts our buses in the place of LeRobot's inside a robot or teleoperator that is not connected yet."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from svm_robot.drivers.bus.config import BusConfig

ARMS = ("left_arm", "right_arm", "follower")
"""Where LeRobot's two-armed devices keep their arms, and our virtual robot its one."""


def attach(device: Any, config: BusConfig) -> None:
    """Exchange every bus of LeRobot's own two classes for ours; other buses and other devices stay as they are.

    Feetech's SCS servos (protocol 1) have no group read; their bus stays too. ``config.plain`` leaves all alone.
    """
    if config.plain:
        return
    if hasattr(device, "prepare_arm"):  # the virtual robot makes its arm when it connects: only then it has a port
        device.prepare_arm = partial(attach, config=config)
    for _, owner in owners(device):
        steadied = _steadied(owner.bus, config)
        if steadied is not None:
            owner.bus = steadied


def owners(device: Any, kind: str = "") -> Iterator[tuple[str, Any]]:
    """The device, or its arms: whatever has a bus as a plain attribute, and its name (``kind``, ``kind.left_arm``)."""
    for name, owner in ((kind, device), *((f"{kind}.{arm}", getattr(device, arm, None)) for arm in ARMS)):
        if "bus" in getattr(owner, "__dict__", ()):
            yield name, owner


def steady_owners(device: Any, kind: str = "") -> list[tuple[str, Any]]:
    """Those of ``owners`` whose bus is ours."""
    return [(name, owner) for name, owner in owners(device, kind) if hasattr(owner.bus, "sentry")]


def steady_buses(device: Any) -> list[Any]:
    """The buses of ours inside ``device``."""
    return [owner.bus for _, owner in steady_owners(device)]


def bus_troubles(device: Any) -> list[str]:
    """What went wrong on the wires of ``device``, a line per motor that had trouble; empty when nothing did."""
    return [
        f"{bus.names.get(motor_id, 'the line')} on {bus.port}: {counters}"
        for bus in steady_buses(device)
        for motor_id, counters in bus.counters.items()
        if counters
    ]


def _steadied(bus: Any, config: BusConfig) -> Any:
    """Ours for a bus of exactly LeRobot's class (a subclass may have changed the transport itself); else None."""
    kind = f"{type(bus).__module__}.{type(bus).__qualname__}"
    if kind == "lerobot.motors.feetech.feetech.FeetechMotorsBus" and bus.protocol_version == 0:
        from svm_robot.drivers.bus.steady import SteadyFeetechBus

        return SteadyFeetechBus(bus.port, bus.motors, bus.calibration, config=config)
    if kind == "lerobot.motors.dynamixel.dynamixel.DynamixelMotorsBus":
        from svm_robot.drivers.bus.steady import SteadyDynamixelBus

        return SteadyDynamixelBus(bus.port, bus.motors, bus.calibration, config=config)
    return None
