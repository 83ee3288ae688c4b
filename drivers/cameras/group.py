"""All cameras of a robot: guarded before they open, measured when they are open, opened again between episodes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from svm_robot.drivers.camera_frames import timed_frame
from svm_robot.drivers.cameras.devices import VideoDevice, video_devices
from svm_robot.drivers.cameras.faults import CameraError, FrozenCameraError, StaleCameraError
from svm_robot.drivers.cameras.guard import GuardedCamera
from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.drivers.cameras.measure import ANY_AGE_MS, Measured, measure
from svm_robot.drivers.cameras.watch import NOISY, FrameWatch, ImageArray, blankness, thinned
from svm_robot.drivers.clock import Clock
from svm_robot.errors import ConfigError, DeviceError

TRIAL_FRAMES, TRIAL_S = 3, 2.0
LOOK_EVERY_S = 0.005

Tell = Callable[[str], None]


def guard_cameras(
    robot: Any,
    limits: CameraLimits,
    clock: Clock,
    tell: Tell,
    devices: Callable[[], Sequence[VideoDevice]] = video_devices,
) -> "CameraGroup":
    """Put a guard around each camera of an unconnected LeRobot robot, also inside the arms of a two-armed one.

    A camera of the virtual robot is not refused for being slow: there it is the computer that is.
    """
    guards: dict[int, GuardedCamera] = {}
    roles: dict[str, GuardedCamera] = {}
    for cameras in _dictionaries(robot):
        for role, camera in list(cameras.items()):
            kind = getattr(getattr(camera, "config", None), "type", "")
            own = replace(limits, least_rate=0.0) if kind == "virtual" else limits
            guard = guards.setdefault(id(camera), GuardedCamera(camera, role, own, clock, devices))
            cameras[role] = guard
            if guard not in roles.values():
                roles[role] = guard
    return CameraGroup(roles, clock, tell)


def _dictionaries(robot: Any) -> Iterator[dict[str, Any]]:
    for part in (robot, *vars(robot).values()):
        cameras = getattr(part, "cameras", None) if hasattr(part, "get_observation") else None
        if isinstance(cameras, dict):
            yield cameras


class CameraGroup:
    """The guards by role."""

    def __init__(self, guards: Mapping[str, GuardedCamera], clock: Clock, tell: Tell) -> None:
        """``tell`` takes notes for the user, one line each."""
        self.guards, self.clock, self.tell = guards, clock, tell

    def resolve(self) -> None:
        """Find every device. Opens nothing. Raises ``DeviceError``/``ConfigError`` that name the role."""
        paths: dict[str, str] = {}
        for role, guard in self.guards.items():
            for note in guard.resolve():
                self.tell(note)
            if guard.path and guard.path in paths:
                raise ConfigError(f"cameras '{paths[guard.path]}' and '{role}' are one device ({guard.device})")
            paths[guard.path] = role

    def check(self, max_frame_age_s: float) -> dict[str, Measured]:
        """Measure all open cameras; learn which of them have sensor noise. The scene should stand still.

        Raises ``DeviceError`` for one that delivers nothing, pictures of another size, or too few of them.
        """
        for guard in self.guards.values():
            guard.max_age_ms = max(guard.max_age_ms, 1e3 * max_frame_age_s)
        measured = measure(self.guards, self.clock)
        for role, guard in self.guards.items():
            problem = _shortfall(guard, measured[role], max_frame_age_s)
            if problem:
                raise DeviceError(guard.explained(problem))
            guard.watch, guard.fault = FrameWatch(guard.limits, noisy=measured[role].noise >= NOISY), None
            picture = measured[role].picture
            why = "" if picture is None else blankness(picture)
            if why:
                self.tell(f"camera '{role}' ({guard.device}) is {why}")
        return measured

    def recover(self) -> None:
        """Between two episodes: open again what failed. Returns at once when all cameras deliver.

        Raises ``CameraError`` or ``DeviceError`` when one does not come back after ``reconnect_tries``.
        """
        for guard in self.guards.values():
            if guard.fault is not None or not guard.is_connected or not self._is_fresh(guard):
                self._recover(guard)

    def _is_fresh(self, guard: GuardedCamera) -> bool:
        age_s = guard.age_s
        return age_s is None or age_s < max(0.2, 3 / (guard.inner.fps or 30))

    def _recover(self, guard: GuardedCamera) -> None:
        fault = guard.fault
        problem = self._trial(guard, fault) if guard.is_connected else self._silent(guard, fault)
        wait_s = guard.limits.reconnect_wait_s
        for number in range(guard.limits.reconnect_tries):
            if problem is None:
                break
            if number:
                self.clock.sleep_until_s(self.clock.now_s() + wait_s)
                wait_s *= 2
            self.tell(f"{problem}; opening it again ({number + 1} of {guard.limits.reconnect_tries})")
            problem = self._reopen(guard, fault)
        if problem is not None:
            raise problem
        self.tell(f"camera '{guard.role}' ({guard.device}) delivers again")

    def _reopen(self, guard: GuardedCamera, fault: CameraError | None) -> Exception | None:
        try:
            guard.disconnect()
            guard.connect()
        except (DeviceError, OSError) as error:
            return error
        return self._trial(guard, fault)

    def _silent(self, guard: GuardedCamera, fault: CameraError | None) -> Exception | None:
        return fault or StaleCameraError(guard.role, guard.device, guard.age_s, "no new picture comes")

    def _trial(self, guard: GuardedCamera, fault: CameraError | None) -> Exception | None:
        """What is still wrong, judged by a few new pictures; None: nothing. ``fault``: what went wrong first."""
        guard.watch = FrameWatch(guard.limits, guard.watch.noisy)
        begin_s = newest_s = self.clock.now_s()
        pictures: list[ImageArray] = []
        numbers: list[int | None] = []
        while len(pictures) < TRIAL_FRAMES:
            self.clock.sleep_until_s(self.clock.now_s() + LOOK_EVERY_S)
            if self.clock.now_s() > begin_s + max(TRIAL_S, 2 * TRIAL_FRAMES / (guard.inner.fps or 30)):
                return self._silent(guard, fault)
            try:
                picture, time_s = timed_frame(guard.inner, guard.read_latest(ANY_AGE_MS), self.clock.now_s())
            except CameraError as error:
                if guard.age_s is not None:
                    return error
                continue  # nothing came yet; the time-out above ends that
            if time_s > newest_s:
                newest_s = time_s
                pictures.append(thinned(picture))
                numbers.append(getattr(guard.inner, "latest_number", None))
        guard.fault = None
        return _still_wrong(guard, fault, pictures, numbers)


def _still_wrong(
    guard: GuardedCamera, fault: CameraError | None, pictures: list[ImageArray], numbers: list[int | None]
) -> Exception | None:
    same = all(np.array_equal(pictures[0], other) for other in pictures[1:])
    counted = numbers[0] is not None
    if isinstance(fault, FrozenCameraError) and (numbers[0] == numbers[-1] if counted else same):
        return fault
    if fault is not None and blankness(pictures[-1]):
        return fault
    return None


def _shortfall(guard: GuardedCamera, measured: Measured, max_frame_age_s: float) -> str:
    """What a camera really delivers, where that is not what was asked for; else empty."""
    camera, picture = guard.inner, measured.picture
    if picture is None:
        return "it is open, but no picture comes"
    height, width = picture.shape[:2]
    if (camera.height or height, camera.width or width) != (height, width):
        return f"asked for pictures of {camera.width}x{camera.height}, {width}x{height} arrive"
    if measured.fps and 1 / measured.fps > max_frame_age_s:
        return (
            f"a picture every {1e3 / measured.fps:.0f} ms can never be younger than the {1e3 * max_frame_age_s:.0f} ms "
            "that max_frame_age_s allows; ask for more pictures per second, or allow older ones"
        )
    asked = camera.fps or 0
    if measured.fps < guard.limits.least_rate * asked:
        return (
            f"asked for {asked:g} pictures per second, {measured.fps:.1f} arrive (in dim light some cameras slow down; "
            f"several on one hub share its bandwidth); ask for fewer, or lower safety.cameras.least_rate"
        )
    return ""
