"""Leaving a robot safe, whatever else is broken."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

Part = tuple[str, Callable[[], Any]]


def shut_down(robot: Any) -> list[Exception]:
    """Torque off motor by motor, then disconnect arm, cameras and port; returns what failed, first failure first."""
    failures = motors_off(robot)
    for _, part in parts_to_release(robot):
        _attempt(part, failures)
    return failures


def motors_off(robot: Any) -> list[Exception]:
    """Torque off motor by motor; returns what failed. A robot that shall keep its torque does.

    LeRobot's own ``disconnect`` stops at the first motor that does not answer and leaves the later ones powered
    (huggingface/lerobot issue 2819). ``disable_torque_on_disconnect: false`` keeps the torque.
    """
    failures: list[Exception] = []
    if not keeps_no_torque(robot):
        return failures
    buses = _open_buses(robot)
    for bus in buses:
        for motor in bus.motors:
            _attempt(partial(_limp, bus, motor), failures)
    if not buses and robot.is_connected:  # its motors are hidden: only its own disconnect switches them off
        _attempt(robot.disconnect, failures)
    return failures


def keeps_no_torque(robot: Any) -> bool:
    """True unless the rig file says that the motors stay on (``disable_torque_on_disconnect: false``)."""
    return bool(getattr(getattr(robot, "config", None), "disable_torque_on_disconnect", True))


def parts_to_release(robot: Any) -> Iterator[Part]:
    """What is to be closed and how, one after the other; each looks for itself whether there is still anything to do.

    A robot whose own ``disconnect`` failed half-way leaves cameras or a port open: they come after it.
    """
    bus = _open_bus(robot)
    yield "disconnect the robot", partial(_if_connected, robot)
    for role, camera in getattr(robot, "cameras", {}).items():
        yield f"close camera '{role}'", partial(_if_connected, camera)
    if bus is not None:
        yield "close the port", partial(_if_connected, bus, False)


def free_port(robot: Any) -> None:
    """A packet that a Ctrl-C cut short leaves LeRobot's port marked as busy, and every later one is refused."""
    port = getattr(_open_bus(robot), "port_handler", None)
    if port is not None:
        port.is_using = False


def _if_connected(device: Any, *arguments: Any) -> None:
    if device.is_connected:
        device.disconnect(*arguments)


def _open_bus(robot: Any) -> Any:
    """The motor bus of a robot that has one and has its port open, also when the rest of it is not connected."""
    try:
        bus = robot.bus
    except (AttributeError, ConnectionError):
        return None
    return bus if bus.is_connected else None


def _open_buses(robot: Any) -> list[Any]:
    """Its own, or those of its two arms."""
    owners = (robot, getattr(robot, "left_arm", None), getattr(robot, "right_arm", None))
    return [bus for owner in owners if (bus := _open_bus(owner)) is not None]


def _limp(bus: Any, motor: str) -> None:
    port = getattr(bus, "port_handler", None)
    if port is not None:
        port.is_using = False
    bus.disable_torque(motor, num_retry=2)


def _attempt(action: Callable[[], Any], failures: list[Exception], patient: bool = True) -> None:
    """A Ctrl-C in the middle starts this one step again, once: people press it twice, and the motors come after."""
    try:
        action()
    except KeyboardInterrupt:
        if not patient:
            raise
        _attempt(action, failures, patient=False)
    except Exception as error:  # noqa: BLE001  (whatever a driver raises, the next part must be switched off)
        failures.append(error)
