"""Leaving a robot safe, whatever else is broken."""

from collections.abc import Callable
from functools import partial
from typing import Any


def shut_down(robot: Any) -> list[Exception]:
    """Torque off motor by motor, then disconnect arm, cameras and port; returns what failed, first failure first.

    LeRobot's own ``disconnect`` stops at the first motor that does not answer and leaves the later ones powered
    (huggingface/lerobot issue 2819). A robot that shall keep its torque (``disable_torque_on_disconnect: false``) does.
    """
    failures: list[Exception] = []
    bus = _open_bus(robot)
    if bus is not None and getattr(robot.config, "disable_torque_on_disconnect", True):
        for motor in bus.motors:
            _attempt(partial(_limp, bus, motor), failures)
    if robot.is_connected:
        _attempt(robot.disconnect, failures)
    for camera in getattr(robot, "cameras", {}).values():
        if camera.is_connected:
            _attempt(camera.disconnect, failures)
    if bus is not None and bus.is_connected:
        _attempt(partial(bus.disconnect, False), failures)
    return failures


def _open_bus(robot: Any) -> Any:
    """The motor bus of a robot that has one and has its port open, also when the rest of it is not connected."""
    try:
        bus = robot.bus
    except (AttributeError, ConnectionError):
        return None
    return bus if bus.is_connected else None


def _limp(bus: Any, motor: str) -> None:
    """Torque off. A packet that a Ctrl-C cut short leaves the port marked as busy, and every later one is refused."""
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
