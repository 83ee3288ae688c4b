"""A LeRobot camera with a role: bound to a device, opened within a time, and every picture looked at.

Wraps; whatever is not named here is the camera's own. A robot's ``cameras`` dictionary takes the wrapper in its place.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.camera_frames import timed_frame
from svm_robot.drivers.cameras.bounded import Bounded
from svm_robot.drivers.cameras.devices import VideoDevice, video_devices
from svm_robot.drivers.cameras.faults import (
    BlankCameraError,
    CameraError,
    FrozenCameraError,
    StaleCameraError,
    VanishedCameraError,
)
from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.drivers.cameras.mode import asked_mode, listed, told_mode
from svm_robot.drivers.cameras.v4l2 import modes
from svm_robot.drivers.cameras.watch import FrameWatch
from svm_robot.drivers.clock import Clock
from svm_robot.drivers.usb.access import no_access
from svm_robot.drivers.usb.identity import SOCKET, choose, identity_of, is_identity, is_volatile, volatility
from svm_robot.errors import ConfigError, DeviceError, SvmRobotError

FINDER = "svm-robot find cameras"
CLOSE_TIMEOUT_S = 6.0
"""LeRobot itself waits up to 4 s for the thread that reads."""
BY_FINDING = {"frozen": FrozenCameraError, "blank": BlankCameraError}


class GuardedCamera:
    """One camera of a robot. Not thread-safe, like the loop that reads it."""

    def __init__(
        self,
        camera: Any,
        role: str,
        limits: CameraLimits,
        clock: Clock,
        devices: Callable[[], Sequence[VideoDevice]] = video_devices,
    ) -> None:
        self.inner, self.role, self.limits, self.clock, self.devices = camera, role, limits, clock, devices
        self.identity = ""
        """Which device it is, as a rig file says it; empty while not known."""
        self.path = ""
        """Where that device is today; empty for cameras without a path."""
        self.watch = FrameWatch(limits)
        self.fault: CameraError | None = None
        """What the last reading failed with, until the camera is trusted again."""
        self.max_age_ms = 500.0
        """What a robot that names no age accepts, as in LeRobot; a rig that allows more raises it."""
        self._bounded = Bounded(f"camera '{role}'")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @property
    def config(self) -> Any:
        """The camera's own configuration, which a robot may still fill in."""
        return getattr(self.inner, "config", None)

    @config.setter
    def config(self, config: Any) -> None:
        self.inner.config = config

    @property
    def device(self) -> str:
        """Identity and path, for messages."""
        known = dict.fromkeys(word for word in (self.identity, self.path) if word)
        return ", ".join(known) or str(self.inner)

    @property
    def age_s(self) -> float | None:
        """Age of the newest picture; None without one."""
        taken_s = getattr(self.inner, "latest_timestamp", None)
        return None if taken_s is None else self.clock.now_s() - taken_s

    def resolve(self) -> list[str]:
        """Find the device that the rig file names, and return notes for the user. Opens nothing.

        Raises ``DeviceError`` when it is missing, ``ConfigError`` when several are meant.
        """
        place = getattr(self.config, "index_or_path", None)
        if place is None:
            return []
        text, named = str(place), f"camera '{self.role}'"
        if is_identity(text) and sys.platform != "linux" and self.devices is video_devices:
            raise ConfigError(f"{named} is named {text}: cameras are found that way on Linux only; write its number")
        present = self.devices()
        if is_identity(text):
            device = choose(text, present, named, FINDER)
            self.identity, self.path = text, device.path
            number = device.path.rpartition("video")[2]
            self.inner.index_or_path = int(number) if number.isdigit() else device.path  # where OpenCV opens it
            bound = f"{named} is bound to the socket {text}: moving its plug breaks the binding"
            return [bound] if text.startswith(SOCKET) else []
        self.path = f"/dev/video{text}" if text.isdigit() else text
        here = next((device for device in present if self.path in (device.path, *device.links)), None)
        stable = identity_of(here, present) if here is not None else ""
        self.identity = stable or ("" if is_volatile(text) else text)
        return volatility(named, text, stable)

    def connect(self, warmup: bool = True) -> None:
        """Open it within ``open_timeout_s`` and compare its mode with the one asked for.

        Raises ``DeviceError`` that names the role, the device and, where it can be asked, the modes it has.
        """
        self.resolve()
        what = f"opening camera '{self.role}' ({self.device})"
        try:
            self._bounded.call(
                partial(self.inner.connect, warmup), self.limits.open_timeout_s, what, self._close_quietly
            )
        except SvmRobotError:
            raise
        except (OSError, RuntimeError, ValueError) as error:
            raise DeviceError(self.explained(" ".join(str(error).split()))) from error
        asked, told = asked_mode(self.inner), told_mode(self.inner)
        if told is not None and asked.misses(told):
            self.disconnect()
            raise DeviceError(self.explained(f"asked for {asked}, the device says {told}"))
        self.watch, self.fault = FrameWatch(self.limits, self.watch.noisy), None

    def read_latest(self, max_age_ms: float | None = None) -> NDArray[np.uint8]:
        """(H, W, 3) the newest picture, at once. Raises a ``CameraError`` when there is none to act on."""
        try:
            picture = self.inner.read_latest(max_age_ms=self.max_age_ms if max_age_ms is None else max_age_ms)
        except TimeoutError as error:
            raise self._failed(StaleCameraError, f"it stands still, {self._last_seen()}") from error
        except (OSError, RuntimeError) as error:
            text = " ".join(str(error).split())
            raise self._failed(VanishedCameraError, f"it is gone, {self._last_seen()} ({text})") from error
        frame, time_s = timed_frame(self.inner, picture, self.clock.now_s())
        finding = self.watch.see(frame, time_s, getattr(self.inner, "latest_number", None))
        if finding is not None:
            trusted_s = self.clock.now_s() - finding.since_s
            raise self._failed(BY_FINDING[finding.kind], finding.what, trusted_s)
        return picture  # type: ignore[no-any-return]

    def disconnect(self) -> None:
        """Close it, but do not wait for ever; may be called twice."""
        what = f"closing camera '{self.role}' ({self.device})"
        if self.inner.is_connected or getattr(self.inner, "thread", None) is not None:
            self._bounded.call(self.inner.disconnect, CLOSE_TIMEOUT_S, what, lambda: None)

    def explained(self, what: str) -> str:
        """``camera 'front' (usb:..., /dev/video2): WHAT``, and what helps: a permission, or the modes it has."""
        known = next((device for device in self.devices() if device.path == self.path), None)
        blocked = no_access(known.path, known.usb) if known is not None else ""
        has = listed(modes(known.path)) if known is not None else ""
        hint = blocked or (f"it has {has}" if has else f"{FINDER} lists what there is")
        return f"camera '{self.role}' ({self.device}): {what}; {hint}"

    def _last_seen(self) -> str:
        age_s = self.age_s
        return "no picture came yet" if age_s is None else f"its newest picture is {1e3 * age_s:.0f} ms old"

    def _failed(self, kind: type[CameraError], what: str, age_s: float | None = None) -> CameraError:
        self.fault = kind(self.role, self.device, self.age_s if age_s is None else age_s, what)
        return self.fault

    def _close_quietly(self) -> None:
        """After an opening that came back too late."""
        with suppress(Exception):
            self.inner.disconnect()
