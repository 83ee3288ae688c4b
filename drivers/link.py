"""A connected LeRobot robot, one caller at a time: the loop, the watchdog and the shutdown share it."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.clock import Clock
from svm_robot.drivers.shutdown import free_port, motors_off
from svm_robot.drivers.usb.bandwidth import usb_hint
from svm_robot.errors import DeviceError, StaleError, UnsafeActionError

FloatArray = NDArray[np.float32]

TURN_S = 1.0
"""Nobody keeps the robot for longer than this; who waited so long gives up, and the shutdown goes on without."""


STANDS = 1.0
"""A joint this near to its target is not on its way any more [robot units]."""


class RobotLink:
    """What is asked of the robot and sent to it. Every method may be called from any thread."""

    def __init__(self, robot: Any, joints: tuple[str, ...], clock: Clock) -> None:
        self.robot, self.joints, self.clock = robot, joints, clock
        self.last_sent: FloatArray | None = None
        """(J,) the newest targets; None before the first."""
        self.stopped = ""
        """Why nothing may be sent any more; empty while it may."""
        self._lock = threading.RLock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The robot for oneself. Raises ``DeviceError`` when somebody else hangs inside its driver."""
        if not self._lock.acquire(timeout=TURN_S):
            raise DeviceError(f"{self.robot.robot_type} is busy: another call hangs inside its driver; check its cable")
        try:
            yield
        finally:
            self._lock.release()

    def observation(self) -> tuple[dict[str, Any], float]:
        """All that the robot tells, and when [s]. Raises ``StaleError``, ``DeviceError``."""
        with self.turn():
            try:
                raw: dict[str, Any] = self.robot.get_observation()
            except DeviceError:  # it already says which camera, joint or port
                raise
            except TimeoutError as error:
                raise StaleError(f"{error}; nothing moves on an old picture") from error
            except (OSError, RuntimeError) as error:  # a pulled cable is an OSError of pyserial, not a ConnectionError
                advice = usb_hint(error) or "; check cable and power"
                raise DeviceError(f"{self.robot.robot_type} does not answer: {error}{advice}") from error
            return raw, self.clock.now_s()

    def state(self, raw: Mapping[str, Any]) -> FloatArray:
        """(J,) the joints of an observation."""
        return np.array([raw[joint] for joint in self.joints], np.float32)

    def positions(self) -> FloatArray:
        """(J,) where the joints are. Where the motors can be asked alone no camera is: it may be what has failed."""
        motors = [joint.removesuffix(".pos") for joint in self.joints]
        bus: Any = getattr(self.robot, "bus", None)
        if not hasattr(bus, "sync_read") or not set(motors) <= set(bus.motors):
            return self.state(self.observation()[0])
        with self.turn():
            try:
                found = bus.sync_read("Present_Position", motors)
            except DeviceError:
                raise
            except (OSError, RuntimeError) as error:
                raise DeviceError(f"{self.robot.robot_type} does not answer: {error}; check cable and power") from error
        return np.array([found[motor] for motor in motors], np.float32)

    def send(self, targets: FloatArray, stopping: bool = False) -> FloatArray:
        """Send (J,) and return what was really sent. ``stopping``: it belongs to the shutdown itself.

        Raises ``DeviceError``, for anybody else also once the robot was ``stopped``.
        """
        if not np.isfinite(targets).all():
            raise UnsafeActionError(f"targets {targets} are not finite; nothing was sent")
        asked = {joint: float(value) for joint, value in zip(self.joints, targets, strict=True)}
        with self.turn():
            if self.stopped and not stopping:
                raise DeviceError(f"nothing is sent any more: {self.stopped}")
            try:
                sent = self.robot.send_action(asked)
            except DeviceError:
                raise
            except (OSError, RuntimeError) as error:
                raise DeviceError(f"{self.robot.robot_type} does not take its targets: {error}") from error
            self.last_sent = np.array([sent[joint] for joint in self.joints], np.float32)
            return self.last_sent

    def hold(self, limited: Callable[[FloatArray], FloatArray]) -> None:
        """Make the present position the target, so that whatever was on its way stops. A gripper keeps its grip.

        ``limited``: the safety limits. Nothing is sent where nothing ever was, or where every joint stands at its
        target: it holds already, and a new target would let it sag. Raises ``DeviceError``.
        """
        with self.turn():
            free_port(self.robot)
            if self.last_sent is None:
                return
            here = self.positions()
            grips = np.array([joint.endswith("gripper.pos") for joint in self.joints])
            target = np.where(grips | ~np.isfinite(here), self.last_sent, here).astype(np.float32)
            if np.any(np.abs(target - self.last_sent) > STANDS):
                self.send(limited(target), stopping=True)

    def motors_off(self) -> None:
        """Torque off, every motor is tried; also when somebody else hangs inside the driver. Raises ``DeviceError``."""
        mine = self._lock.acquire(timeout=TURN_S)
        try:
            failures = motors_off(self.robot)
        finally:
            if mine:
                self._lock.release()
        if failures:
            raise DeviceError("; ".join(dict.fromkeys(map(str, failures)))) from failures[0]
