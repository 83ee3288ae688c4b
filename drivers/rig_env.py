"""Any LeRobot robot as an ``Env``: paced, with capture times, behind the safety limits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.camera_frames import camera_sizes, timed_frame
from svm_robot.drivers.cameras.faults import StaleCameraError
from svm_robot.drivers.clock import Clock
from svm_robot.drivers.identity import calibration_hash, camera_identities, joint_units, robot_id
from svm_robot.drivers.observation import Applied, Observation, Spec
from svm_robot.drivers.rig_statistics import RigStatistics, rig_statistics
from svm_robot.drivers.safety import Safety, SafetyConfig
from svm_robot.drivers.shutdown import shut_down
from svm_robot.drivers.ticker import Ticker
from svm_robot.drivers.usb_bandwidth import usb_hint
from svm_robot.errors import ConfigError, DeviceError, StaleError, UnsafeActionError

FloatArray = NDArray[np.float32]
ImageArray = NDArray[np.uint8]

ARRIVED = 3.0
"""A joint this near to its start position has arrived [robot units]."""
SETTLE_S = 2.0
"""How long the arm may take to arrive after the last target of the way."""


@dataclass(frozen=True)
class StartPose:
    """Where episodes start, and how the arm gets there."""

    pose: Mapping[str, float] = field(default_factory=dict)
    """Joint key -> position; joints that are not named stay where they are."""
    speed: float = 30.0
    """Greatest speed of any joint on the way [robot units/s]; where the safety limits allow less, they win."""


class RigEnv:
    """Four verbs over a connected robot. Not thread-safe; ``close`` may be called twice."""

    def __init__(
        self,
        robot: Any,
        *,
        rate_hz: float,
        clock: Clock,
        safety: SafetyConfig,
        limits: Mapping[str, tuple[float, float]],
        max_frame_age_s: float,
        start: StartPose | None = None,
        reset_scene: Callable[[int | None], None] | None = None,
        recover: Callable[[], None] | None = None,
    ) -> None:
        """``limits``: joint key -> (lower, upper) in robot units; ``reset_scene``: what a virtual cell does by itself;
        ``recover``: opens cameras again that failed in the last episode.

        Raises ``ConfigError`` when the robot has no joint positions, when a joint has no range (neither in ``limits``
        nor under ``safety.limits``), when the start pose names a joint it does not have, or when a camera gives depth.
        """
        self.robot, self.clock = robot, clock
        joints = tuple(key for key, kind in robot.action_features.items() if key.endswith(".pos") and kind is float)
        cameras = camera_sizes(robot.observation_features)
        self.spec = Spec(
            robot.robot_type,
            joints,
            cameras,
            rate_hz,
            units=joint_units(robot, joints),
            robot_id=robot_id(robot),
            calibration=calibration_hash(robot),
            camera_identities=camera_identities(robot),
        )
        self.start = start or StartPose()
        self._check({*limits, *safety.limits})
        self.max_frame_age_s = max_frame_age_s
        self.reset_scene, self.recover = reset_scene, recover
        self.safety = Safety(safety, joints, limits, rate_hz)
        self.ticker = Ticker(rate_hz, clock)
        self._previous: FloatArray | None = None
        self._ages: dict[str, list[float]] = {role: [] for role in cameras}
        self._closed = False

    def reset(self, seed: int | None = None) -> None:
        """Go to the start pose, slowly; then, where the world can, a new scene. Blocks until the arm is there.

        Raises ``DeviceError`` when the arm does not arrive (something is in its way, or a motor is off), or when a
        camera that failed does not come back.
        """
        if self.recover is not None:
            self.recover()
        if self.start.pose:
            self._go_to_start()
        if self.reset_scene is not None:
            self.reset_scene(seed)
        self._previous = None
        self.ticker.start()

    def observe(self, frames: bool = True) -> Observation:
        """Wait for the next tick, then read joints and newest frames.

        Raises ``StaleError`` naming the camera and the age when a frame is older than allowed, ``DeviceError`` when an
        arm or camera does not answer.
        """
        self.ticker.wait()
        raw, now = self._read()
        state = self._state(raw)
        if self._previous is None:
            self._previous = state
        pictures: dict[str, ImageArray] = {}
        times: dict[str, float] = {}
        for role in self.spec.cameras if frames else ():
            pictures[role], times[role] = timed_frame(self._camera(role), raw[role], now)
            self._check_age(role, self.clock.now_s() - times[role])
        return Observation(state, now, pictures, times)

    def apply(self, action: FloatArray) -> Applied:
        """Send (J,) absolute joint targets, limited relative to the last targets sent; does not wait.

        Raises ``UnsafeActionError`` for a non-finite or wrongly shaped action; nothing is sent then.
        """
        previous = self._previous
        if previous is None:
            self.safety.checked(action, "action")
            raise UnsafeActionError("apply() came before the first observe(): nothing is known of where the arm is")
        limited = self.safety.limit(action, previous)
        sent = self._send(limited.sent)
        self._previous = sent
        return Applied(sent, limited.clipped or bool(np.any(sent != limited.sent)))

    def close(self) -> None:
        """Torque off, then disconnect; every part is tried. Raises ``DeviceError`` that names all that failed."""
        if self._closed:
            return
        self._closed = True
        failures = shut_down(self.robot)
        if failures:
            told = "; ".join(dict.fromkeys(map(str, failures)))  # a dead motor fails alone and in the disconnection
            raise DeviceError(
                f"while switching the robot off: {told}; cut its power if a motor still holds"
            ) from failures[0]

    @property
    def untimed_cameras(self) -> list[str]:
        """Roles of cameras that tell no capture time: their pictures count as taken when they are read, so as fresh."""
        return [role for role in self.spec.cameras if not hasattr(self._camera(role), "latest_timestamp")]

    def statistics(self) -> RigStatistics:
        """How well the loop kept time so far."""
        return rig_statistics(self.ticker, self._ages)

    def _check(self, limited: set[str]) -> None:
        if not self.spec.joints:
            raise ConfigError(f"robot '{self.spec.robot_type}' has no joint positions (keys that end in .pos)")
        unknown = sorted(set(self.start.pose) - set(self.spec.joints))
        if unknown:
            raise ConfigError(
                f"start_pose names {', '.join(unknown)}; the joints of this robot are {', '.join(self.spec.joints)}"
            )
        free = [joint for joint in self.spec.joints if joint not in limited]
        if free:
            raise ConfigError(
                f"nothing says how far {', '.join(free)} of this {self.spec.robot_type} may go (its driver shows no "
                f"calibration); give each a range under safety.limits, for example {free[0]}: [-90, 90]"
            )
        for joint, position in self.start.pose.items():
            if not np.isfinite(position):
                raise ConfigError(f"start_pose of {joint} is {position}; it must be a number")

    def _read(self) -> tuple[dict[str, Any], float]:
        try:
            raw: dict[str, Any] = self.robot.get_observation()
        except DeviceError:  # it already says which camera, joint or port
            raise
        except TimeoutError as error:
            raise StaleError(f"{error}; nothing moves on an old picture") from error
        except (OSError, RuntimeError) as error:  # a pulled cable is an OSError of pyserial, not a ConnectionError
            advice = usb_hint(error) or "; check cable and power"
            raise DeviceError(f"{self.spec.robot_type} does not answer: {error}{advice}") from error
        return raw, self.clock.now_s()

    def _camera(self, role: str) -> Any:
        """The object behind a role; None where the robot keeps its cameras elsewhere (some two-armed ones do)."""
        return getattr(self.robot, "cameras", {}).get(role)

    def _state(self, raw: Mapping[str, Any]) -> FloatArray:
        return np.array([raw[joint] for joint in self.spec.joints], np.float32)

    def _send(self, targets: FloatArray) -> FloatArray:
        asked = {joint: float(value) for joint, value in zip(self.spec.joints, targets, strict=True)}
        try:
            sent = self.robot.send_action(asked)
        except DeviceError:
            raise
        except (OSError, RuntimeError) as error:
            raise DeviceError(f"{self.spec.robot_type} does not take its targets: {error}") from error
        return np.array([sent[joint] for joint in self.spec.joints], np.float32)

    def _check_age(self, role: str, age_s: float) -> None:
        self._ages[role].append(age_s)
        if age_s > self.max_frame_age_s:
            limit_ms = 1e3 * self.max_frame_age_s
            what = f"newest frame is {1e3 * age_s:.0f} ms old, max_frame_age_s allows {limit_ms:.0f} ms"
            raise StaleCameraError(role, getattr(self._camera(role), "device", ""), age_s, what)

    def _go_to_start(self) -> None:
        """Straight in joint space, at limited speed, tick by tick."""
        ticker = Ticker(self.spec.rate_hz, self.clock)
        begin = self._state(self._read()[0])
        goal = np.array([self.start.pose.get(j, now) for j, now in zip(self.spec.joints, begin, strict=True)])
        goal = np.clip(goal, self.safety.lower, self.safety.upper).astype(np.float32)
        stride = np.minimum(self.start.speed * ticker.period_s, self.safety.max_step)
        count = int(np.ceil(np.max(np.abs(goal - begin) / stride)))
        for index in range(1, count + 1):
            ticker.wait()
            self._send((begin + (goal - begin) * (index / count)).astype(np.float32))
        for _ in range(round(SETTLE_S / ticker.period_s) + 1):
            ticker.wait()
            away = np.abs(self._state(self._read()[0]) - goal)
            if np.all(away <= ARRIVED):
                return
        worst = int(np.argmax(away))
        raise DeviceError(
            f"{self.spec.joints[worst]} stopped {away[worst]:.1f} away from its start position; "
            "is something in its way, or its motor off?"
        )
