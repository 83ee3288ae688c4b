"""The virtual robot in lockstep: time stands still between two calls, and passes as fast as the processor goes."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.joints import JOINT_LIMITS, JOINT_UNITS
from svm_robot.drivers.kinematics import virtual_kinematics
from svm_robot.drivers.observation import Applied, Observation, Spec
from svm_robot.drivers.safety import Safety, SafetyConfig
from svm_robot.drivers.virtual.world import World

FloatArray = NDArray[np.float32]


class LockstepEnv:
    """An ``Env`` over a ``World``. Not thread-safe."""

    def __init__(
        self,
        world: World,
        rate_hz: float = 10.0,
        safety: SafetyConfig | None = None,
        robot_type: str = "virtual_so101",
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``tell`` takes a line for the user when the workspace stops the arm.

        Raises ``ConfigError`` for a rate that is not above 0 or limits that do not fit the robot."""
        self.world = world
        self.spec = Spec(
            robot_type,
            world.joints,
            dict(world.cameras),
            rate_hz,
            units=JOINT_UNITS,
            camera_identities={role: f"virtual {role}" for role in world.cameras},
        )
        self.safety = Safety(
            safety or SafetyConfig(), world.joints, JOINT_LIMITS, rate_hz, virtual_kinematics(world.joints), tell
        )
        self._target = world.read_joints()
        self._fresh = True

    def reset(self, seed: int | None = None) -> None:
        """A new random start at time 0. Same seed, same start."""
        self.world.reset(seed)
        self.safety.restart()
        self._target = self.world.read_joints()
        self._fresh = True

    def observe(self, frames: bool = True) -> Observation:
        """Let one control period pass (not at the first call after ``reset``), then read; never waits."""
        if not self._fresh:
            self.world.advance(1 / self.spec.rate_hz)
        self._fresh = False
        now = self.world.time_s
        pictures = {role: self.world.render(role) for role in self.spec.cameras} if frames else {}
        return Observation(self.world.read_joints(), now, pictures, dict.fromkeys(pictures, now))

    def apply(self, action: FloatArray) -> Applied:
        """Send (6,) absolute joint targets in robot units, limited relative to the last targets sent.

        Raises ``UnsafeActionError`` for a non-finite or wrongly shaped action; nothing is sent then.
        """
        applied = self.safety.limit(action, self._target, self.world.time_s)
        self.world.command(applied.sent)
        self._target = applied.sent
        return applied

    def rest(self, error: BaseException | None = None) -> None:
        """Nothing moves while no time passes; after an ``error`` the arm's present position is its target."""
        if error is not None:
            self._target = self.world.read_joints()
            self.world.command(self._target)

    def close(self) -> None:
        """Free the renderers; may be called twice."""
        self.world.close()
