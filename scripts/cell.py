"""Where a rig file becomes objects: the environment, its judge, its scripted operator, its teleoperator."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
from svm_robot.drivers.rig import RigConfig
from svm_robot.errors import ConfigError
from svm_robot.rollout import Env, Operator, Policy
from svm_robot.rollout.env import ImageArray
from svm_robot.scripts.cli import warn

if TYPE_CHECKING:
    from svm_robot.drivers.rig_env import RigStatistics
    from svm_robot.drivers.virtual.cell import VirtualCell

SLOW = 0.05
"""A larger share of lost time is worth telling."""


class Truth(Protocol):
    """What a virtual world can be asked and a real one cannot."""

    def succeeded(self) -> bool:
        """True when the task is done right now."""

    def privileged(self) -> Mapping[str, Any]:
        """Object poses: for the scripted operator and for audits, never for a policy."""

    def film(self) -> ImageArray:
        """(H, W, 3) RGB from a camera beside the table."""


@dataclass(frozen=True)
class Cell:
    """An open rig. ``truth`` is None where only a person can tell how an episode went."""

    rig: RigConfig
    env: Env
    truth: Truth | None
    _expert: Callable[[int], Policy] | None
    _teleop: Callable[[], Policy]

    def judge(self) -> Operator:
        """The simulator's own verdicts. Raises ``ConfigError`` on a real robot."""
        from svm_robot.drivers.virtual.judge import Judge

        if self.truth is None:
            raise ConfigError("a real robot has no judge; leave --judge out and give the outcome with the keys s/f/u/d")
        return Judge(self.truth)

    def expert(self, seed: int) -> Policy:
        """The scripted operator. Raises ``ConfigError`` on a real robot."""
        if self._expert is None:
            raise ConfigError("a real robot has no scripted operator; use --control=teleop")
        return self._expert(seed)

    def teleop(self) -> Policy:
        """The rig's leader arm or other teleoperator, connected. Closed together with the cell."""
        return self._teleop()

    def film(self) -> ImageArray:
        """(H, W, 3) RGB of the whole scene. Raises ``ConfigError`` on a real robot."""
        if self.truth is None:
            raise ConfigError("a real robot has no film camera; only the virtual robot has one")
        return self.truth.film()


@contextmanager
def open_cell(rig: RigConfig, *, clumsiness: float = 1.0) -> Iterator[Cell]:
    """Open everything a rig file names, and close it again in the reverse order, whatever happens between.

    ``clumsiness`` is that of the scripted operator (0: never fails, 1: fails about every second time).
    """
    with ExitStack() as stack:
        if isinstance(rig.robot, VirtualSO101Config) and rig.robot.link == "lockstep":
            yield _open_lockstep(rig, rig.robot, clumsiness, stack)
        else:
            yield _open_robot(rig, clumsiness, stack)


def _open_lockstep(rig: RigConfig, robot: VirtualSO101Config, clumsiness: float, stack: ExitStack) -> Cell:
    from svm_robot.drivers.virtual.expert import ScriptedExpert
    from svm_robot.drivers.virtual.lockstep import LockstepEnv
    from svm_robot.drivers.virtual.world import World

    world = World(robot.task, robot.disturbance, robot.camera_sizes, seed=rig.seed)
    stack.callback(world.close)
    env = LockstepEnv(world, rate_hz=rig.rate_hz, safety=rig.safety, robot_type=robot.type)
    stack.callback(env.close)

    def expert(seed: int) -> Policy:
        return ScriptedExpert(world, clumsiness, seed)

    def teleop() -> Policy:
        raise ConfigError("teleoperation needs real time; set robot.link to wire")

    return Cell(rig, env, world, expert, teleop)


def _open_robot(rig: RigConfig, clumsiness: float, stack: ExitStack) -> Cell:
    """A LeRobot robot: a real one, or the virtual one over its wire."""
    from lerobot.robots import make_robot_from_config

    from svm_robot.drivers.clock import MonotonicClock
    from svm_robot.drivers.connect import connect
    from svm_robot.drivers.limits import joint_limits
    from svm_robot.drivers.rig_env import RigEnv, StartPose
    from svm_robot.drivers.shutdown import shut_down
    from svm_robot.drivers.virtual_so101 import VirtualSO101

    robot = make_robot_from_config(rig.robot)
    # a Ctrl-C while it connects, or limits that do not fit, must not leave torque on
    stack.callback(lambda: _tell_failures(shut_down(robot)))
    connect(robot, "robot")
    virtual = robot.cell if isinstance(robot, VirtualSO101) else None
    env = RigEnv(
        robot,
        rate_hz=rig.rate_hz,
        clock=MonotonicClock(),
        safety=rig.safety,
        limits=joint_limits(robot),
        max_frame_age_s=rig.max_frame_age_s,
        start=StartPose(rig.start_pose or {}, rig.start_speed),
        reset_scene=virtual.reset if virtual else None,
    )
    stack.callback(env.close)
    stack.callback(lambda: _tell_timing(env.statistics()))
    if virtual is not None:
        stack.callback(_tell_slowness, virtual)

    def teleop() -> Policy:
        return _open_teleop(rig, env.spec.joints, stack)

    if virtual is None:
        return Cell(rig, env, None, None, teleop)

    from svm_robot.drivers.virtual.expert import ScriptedExpert

    return Cell(rig, env, virtual, lambda seed: ScriptedExpert(virtual, clumsiness, seed), teleop)


def _open_teleop(rig: RigConfig, joints: tuple[str, ...], stack: ExitStack) -> Policy:
    from lerobot.teleoperators import make_teleoperator_from_config

    from svm_robot.drivers.connect import connect
    from svm_robot.drivers.teleop import TeleopPolicy

    if rig.teleop is None:
        raise ConfigError(
            "this rig has no teleoperator; add --teleop.type=so101_leader --teleop.port=... --teleop.id=..."
        )
    teleoperator = make_teleoperator_from_config(rig.teleop)
    degrees = True if isinstance(rig.robot, VirtualSO101Config) else getattr(rig.robot, "use_degrees", None)
    policy = TeleopPolicy(teleoperator, joints, degrees)
    connect(teleoperator, "teleop")
    stack.callback(teleoperator.disconnect)
    return policy


def _tell_failures(failures: Sequence[Exception]) -> None:
    for failure in failures:
        warn(f"while switching the robot off: {failure}; cut its power if a motor still holds")


def _tell_timing(statistics: "RigStatistics") -> None:
    if statistics.ticks:
        warn(f"timing: {statistics}")


def _tell_slowness(cell: "VirtualCell") -> None:
    status = cell.status()
    share = status["lost_s"] / max(status["running_s"], 1.0)
    if share > SLOW:
        warn(f"this computer is too slow for the virtual robot in real time: it lost {share:.0%} of the time")
