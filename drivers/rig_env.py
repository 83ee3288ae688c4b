"""Any LeRobot robot as an ``Env``: paced, with capture times, behind the safety limits, stopped in order."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.approach import SETTLE_S, StartPose, walk
from svm_robot.drivers.camera_frames import camera_sizes, timed_frame
from svm_robot.drivers.cameras.faults import StaleCameraError
from svm_robot.drivers.clock import Clock
from svm_robot.drivers.identity import calibration_hash, camera_identities, joint_units, robot_id
from svm_robot.drivers.kinematics import Kinematics
from svm_robot.drivers.link import RobotLink
from svm_robot.drivers.observation import Applied, Observation, Spec
from svm_robot.drivers.rig_statistics import RigStatistics, rig_statistics
from svm_robot.drivers.safety import Safety, SafetyConfig
from svm_robot.drivers.safety.guardian import Guardian
from svm_robot.drivers.safety.motor_stop import MotorStop, Moves
from svm_robot.drivers.safety.motor_watch import MotorWatch
from svm_robot.drivers.safety.steps import Steps, StopTimes
from svm_robot.drivers.safety.watchdog import Watchdog
from svm_robot.drivers.shutdown import keeps_no_torque, parts_to_release
from svm_robot.drivers.ticker import Ticker
from svm_robot.errors import ConfigError, DeviceError, StaleError, UnsafeActionError

FloatArray = NDArray[np.float32]
ImageArray = NDArray[np.uint8]


class RigEnv:
    """Five verbs over a connected robot. Not thread-safe; ``close`` may be called twice."""

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
        park: StartPose | None = None,
        kinematics: Kinematics | None = None,
        reset_scene: Callable[[int | None], None] | None = None,
        recover: Callable[[], None] | None = None,
        guardian: Guardian | None = None,
        times: StopTimes | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``limits``: joint key -> (lower, upper) in robot units; ``reset_scene``: what a virtual cell does by itself;
        ``recover``: opens cameras again that failed in the last episode; ``park``: where the arm goes before its torque
        goes off; ``kinematics``: for ``safety.workspace``; ``tell`` takes lines for the user.

        Raises ``ConfigError`` when the robot has no joint positions, when a joint has no range (neither in ``limits``
        nor under ``safety.limits``), when a pose names a joint it does not have, or when a camera gives depth.
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
        self.start, self.park = start or StartPose(), park or StartPose()
        self.max_frame_age_s = max_frame_age_s
        self.reset_scene, self.recover = reset_scene, recover
        self.safety = Safety(safety, joints, limits, rate_hz, kinematics, tell)
        self._check({*limits, *safety.limits})
        self.link = RobotLink(robot, joints, clock)
        self.ticker = Ticker(rate_hz, clock)
        self.motor_watch = MotorWatch(getattr(robot, "bus", None), safety.motors, clock)
        self.watchdog = Watchdog(clock, safety.watchdog_s, safety.hang_s, self._hold, self._hangs)
        self.times, self.steps = times or StopTimes(), Steps(clock)
        self.motors = MotorStop(self.link, self._moves(), self.steps, self.times)
        self.guardian = guardian
        if guardian is not None:
            guardian.stop_motors, guardian.hurry = self._stop_without_main_thread, self.motors.hurry.set
        self._previous: FloatArray | None = None
        self._ages: dict[str, list[float]] = {role: [] for role in cameras}
        self._hang: DeviceError | None = None
        self._closed = False

    def reset(self, seed: int | None = None) -> None:
        """Go to the start pose, slowly; then, where the world can, a new scene. Blocks until the arm is there.

        Raises ``DeviceError`` when the arm does not arrive (something is in its way, or a motor is off), or when a
        camera that failed does not come back.
        """
        if self.motors.begun:
            raise DeviceError(f"the motors are switched off ({self.link.stopped}); open the rig again")
        self.watchdog.rest()
        if self.recover is not None:
            self.recover()
        self.safety.restart()
        if self.start.pose:
            walk(self.link, self.safety, self.start, self.spec.rate_hz, self.clock, "start")
        if self.reset_scene is not None:
            self.reset_scene(seed)
        # the scene may have moved the arm: what was sent before is no target any more
        self._previous = self.link.last_sent = None
        self.ticker.start()

    def observe(self, frames: bool = True) -> Observation:
        """Wait for the next tick, then read joints and newest frames.

        Raises ``StaleError`` naming the camera and the age when a frame is older than allowed, or when the watchdog had
        to hold the arm; ``DeviceError`` when an arm or camera does not answer, or a motor is overloaded.
        """
        self.ticker.wait()
        self._check_late()
        with self.link.turn():
            raw, now = self.link.observation()
            self.motor_watch.look()
        state = self.link.state(raw)
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

        Raises ``UnsafeActionError`` for a non-finite or wrongly shaped action, ``StaleError`` when the watchdog had to
        hold the arm meanwhile; nothing is sent then.
        """
        self._check_late()
        previous = self._previous
        if previous is None:
            self.safety.checked(action, "action")
            raise UnsafeActionError("apply() came before the first observe(): nothing is known of where the arm is")
        limited = self.safety.limit(action, previous, self.clock.now_s())
        sent = self.link.send(limited.sent)
        self.watchdog.feed()
        self._previous = sent
        return Applied(sent, limited.clipped or bool(np.any(sent != limited.sent)))

    def rest(self, error: BaseException | None = None) -> None:
        """No more actions come. ``error``: what broke the episode off; see ``Env.rest``."""
        self.watchdog.rest()
        if isinstance(error, StaleError):
            self.steps.run("hold", self._hold, self.times.hold_s)
        elif error is not None:
            self.make_safe(error)

    def make_safe(self, error: BaseException | None = None) -> None:
        """Hold or park, then torque off, once; returns when that is over. ``error``: why the session ends, if not well.

        The arm is parked unless a device failed: a joint that does not answer makes every way a guess.
        """
        if self.guardian is not None and error is not None:
            self.guardian.stopping(getattr(error, "exit_code", 1))
        why = f"the session ended ({type(error).__name__})" if error is not None else "the session ended"
        self.motors.run(
            why, park=not isinstance(error, DeviceError) or isinstance(error, StaleError) or error is self._hang
        )

    def close(self) -> None:
        """Motors safe, then disconnect; every part is tried. Raises ``DeviceError`` that names all that failed."""
        if self._closed:
            return
        self._closed = True
        self.watchdog.close()
        self.make_safe()
        for name, part in parts_to_release(self.robot):
            self.steps.run(name, part, self.times.close_s)
        if failures := self.steps.problems:
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
        free = [joint for joint in self.spec.joints if joint not in limited]
        if free:
            raise ConfigError(
                f"nothing says how far {', '.join(free)} of this {self.spec.robot_type} may go (its driver shows no "
                f"calibration); give each a range under safety.limits, for example {free[0]}: [-90, 90]"
            )
        self.start.check("start_pose", self.safety)
        self.park.check("park_pose", self.safety)

    def _moves(self) -> Moves:
        """What a stop consists of on this robot."""
        way, off = self.park.pose, self.link.motors_off if keeps_no_torque(self.robot) else None
        longest_s = 360 / self.park.speed + SETTLE_S + 2.0
        return Moves(self._hold, off, self._go_to_park if way else None, longest_s)

    def _hold(self) -> None:
        self.link.hold(lambda target: self.safety.limit(target, target).sent)

    def _go_to_park(self) -> None:
        hurry = self.motors.hurry.is_set
        walk(self.link, self.safety, self.park, self.spec.rate_hz, self.clock, "park", hurry)

    def _stop_without_main_thread(self, why: str) -> None:
        self.motors.run(why, park=False)

    def _hangs(self, silent_s: float) -> None:
        self._hang = DeviceError(
            f"nothing was commanded for {silent_s:.1f} s (safety.hang_s): whatever chooses or watches the actions hangs"
        )
        if self.guardian is not None:
            self.guardian.hangs(self._hang)

    def _check_late(self) -> None:
        if late_s := self.watchdog.late_s:
            raise StaleError(
                f"no command came for {late_s:.1f} s (safety.watchdog_s allows {self.watchdog.limit_s:g}): the arm was "
                "held where it was; nothing moves on what was seen before"
            )

    def _camera(self, role: str) -> Any:
        """The object behind a role; None where the robot keeps its cameras elsewhere (some two-armed ones do)."""
        return getattr(self.robot, "cameras", {}).get(role)

    def _check_age(self, role: str, age_s: float) -> None:
        self._ages[role].append(age_s)
        if age_s > self.max_frame_age_s:
            limit_ms = 1e3 * self.max_frame_age_s
            what = f"newest frame is {1e3 * age_s:.0f} ms old, max_frame_age_s allows {limit_ms:.0f} ms"
            raise StaleCameraError(role, getattr(self._camera(role), "device", ""), age_s, what)
