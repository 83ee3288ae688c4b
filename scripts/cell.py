"""Where a rig file becomes objects: the environment, its judge, its scripted operator, its teleoperator."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
from svm_robot.drivers.rig import RigConfig
from svm_robot.errors import ConfigError, DeviceError
from svm_robot.rollout import Env, Operator, Policy
from svm_robot.scripts.cli import warn
from svm_robot.scripts.ending import Ending

if TYPE_CHECKING:
    from svm_robot.drivers.rig_env import RigEnv
    from svm_robot.drivers.rig_statistics import RigStatistics
    from svm_robot.drivers.teleop import TeleopPolicy
    from svm_robot.drivers.teleop.hand import Hand
    from svm_robot.drivers.virtual.cell import VirtualCell
    from svm_robot.drivers.virtual.judge import Judged

SLOW = 0.05
"""A larger share of lost time is worth telling."""


@dataclass(frozen=True)
class Cell:
    """An open rig. ``truth`` is None where only a person can tell how an episode went."""

    env: Env
    truth: "Judged | None"
    _expert: Callable[[int], Policy] | None
    _teleop: Callable[[], Policy]
    _hand: "Callable[[], Hand]"
    ending: Ending
    """The steps by which a session ends."""

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

    def hand(self) -> "Hand":
        """The same as a hand that can begin anywhere without a jump; also a gamepad."""
        return self._hand()


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
    from svm_robot.drivers.clock import MonotonicClock
    from svm_robot.drivers.safety.steps import Steps
    from svm_robot.drivers.virtual.expert import ScriptedExpert
    from svm_robot.drivers.virtual.lockstep import LockstepEnv
    from svm_robot.drivers.virtual.world import World

    world = World(robot.task, robot.disturbance, robot.camera_sizes, seed=rig.seed)
    env = LockstepEnv(world, rate_hz=rig.rate_hz, safety=rig.safety, robot_type=robot.type, tell=warn)
    stack.callback(env.close)

    def expert(seed: int) -> Policy:
        return ScriptedExpert(world, clumsiness, seed)

    def teleop() -> "NoReturn":
        raise ConfigError("teleoperation needs real time; set robot.link to wire")

    return Cell(env, world, expert, teleop, teleop, Ending(Steps(MonotonicClock())))


def _open_robot(rig: RigConfig, clumsiness: float, stack: ExitStack) -> Cell:
    """A LeRobot robot: a real one, or the virtual one over its wire."""
    from lerobot.robots import make_robot_from_config
    from lerobot.teleoperators import make_teleoperator_from_config

    from svm_robot.drivers.approach import StartPose
    from svm_robot.drivers.bus.attach import attach, bus_troubles
    from svm_robot.drivers.cameras.group import guard_cameras
    from svm_robot.drivers.cameras.quiet import told_once
    from svm_robot.drivers.clock import MonotonicClock
    from svm_robot.drivers.connect import connect, made
    from svm_robot.drivers.fingerprint import rival_of
    from svm_robot.drivers.kinematics import known_kinematics
    from svm_robot.drivers.limits import joint_limits
    from svm_robot.drivers.rig_env import RigEnv
    from svm_robot.drivers.safety.guardian import Guardian
    from svm_robot.drivers.safety.steps import Steps
    from svm_robot.drivers.shutdown import shut_down
    from svm_robot.drivers.usb.ports import bind_ports
    from svm_robot.drivers.virtual_so101 import VirtualSO101

    guardian = stack.enter_context(Guardian(warn))
    stack.enter_context(told_once())
    config, notes = bind_ports(rig.robot, "robot")
    robot, clock = made(make_robot_from_config, config, "robot"), MonotonicClock()
    attach(robot, rig.bus)
    cameras = guard_cameras(robot, rig.safety.cameras, clock, warn)
    cameras.resolve()
    for note in notes:
        warn(note)
    # a Ctrl-C while it connects, or limits that do not fit, must not leave torque on
    stack.callback(lambda: _tell_failures("robot", shut_down(robot)))
    connect(robot, "robot", rival_of(rig.teleop, make_teleoperator_from_config))
    cameras.check(rig.max_frame_age_s)
    virtual = robot.cell if isinstance(robot, VirtualSO101) else None
    env = RigEnv(
        robot,
        rate_hz=rig.rate_hz,
        clock=clock,
        safety=rig.safety,
        limits=joint_limits(robot),
        max_frame_age_s=rig.max_frame_age_s,
        start=StartPose(rig.start_pose or {}, rig.start_speed),
        park=StartPose(rig.park_pose or {}, rig.park_speed),
        kinematics=known_kinematics(robot, tuple(robot.action_features)),
        reset_scene=virtual.reset if virtual else None,
        recover=cameras.recover,
        guardian=guardian,
        tell=warn,
    )
    ending = Ending(Steps(clock, env.steps.log), env)
    stack.push(partial(_close, env))
    stack.callback(lambda: _tell_timing(env.statistics(), bus_troubles(robot), env.safety.told()))
    for role in env.untimed_cameras:
        warn(f"camera '{role}' tells no capture time: its pictures always count as fresh, even frozen ones")
    if virtual is not None:
        stack.callback(_tell_slowness, virtual)
    stack.callback(env.make_safe)  # before anything of the above, which may hang

    by_hand = partial(_open_teleop, rig, robot, stack, ending)
    teleop, hand = (partial(by_hand, partial(become, rig, env.spec.joints)) for become in (_leader, _hand))
    if virtual is None:
        return Cell(env, None, None, teleop, hand, ending)

    from svm_robot.drivers.virtual.expert import ScriptedExpert

    return Cell(env, virtual, lambda seed: ScriptedExpert(virtual, clumsiness, seed), teleop, hand, ending)


def _open_teleop[P](rig: RigConfig, robot: object, stack: ExitStack, ending: Ending, become: Callable[[Any], P]) -> P:
    """``become``: from LeRobot's teleoperator, not connected yet, what moves the robot."""
    from lerobot.teleoperators import make_teleoperator_from_config

    from svm_robot.drivers.bus.attach import attach
    from svm_robot.drivers.connect import connect, made
    from svm_robot.drivers.shutdown import shut_down
    from svm_robot.drivers.usb.ports import bind_ports

    if rig.teleop is None:
        raise ConfigError(
            "this rig has no teleoperator; add --teleop.type=so101_leader --teleop.port=... --teleop.id=..."
        )
    config, notes = bind_ports(rig.teleop, "teleop")
    for note in notes:
        warn(note)
    teleoperator = made(make_teleoperator_from_config, config, "teleop")
    attach(teleoperator, rig.bus)
    policy = become(teleoperator)
    ending.closing(stack, "switching the teleoperator off", lambda: _raise(shut_down(teleoperator)), serious=False)
    connect(teleoperator, "teleop", robot)
    return policy


def _leader(rig: RigConfig, joints: tuple[str, ...], teleoperator: Any) -> "TeleopPolicy":
    from svm_robot.drivers.teleop import TeleopPolicy

    degrees = True if isinstance(rig.robot, VirtualSO101Config) else getattr(rig.robot, "use_degrees", None)
    return TeleopPolicy(teleoperator, joints, degrees)


def _hand(rig: RigConfig, joints: tuple[str, ...], teleoperator: Any) -> "Hand":
    from svm_robot.drivers.teleop.gamepad import GamepadHand, has_sticks
    from svm_robot.drivers.teleop.hand import RelativeHand

    if has_sticks(teleoperator):
        return GamepadHand(teleoperator, joints)
    return RelativeHand(_leader(rig, joints, teleoperator))


def _close(env: "RigEnv", kind: object, error: BaseException | None, trace: object) -> None:
    """What ended the session stays the error that is shown; a shutdown that fails then comes on top of it."""
    try:
        env.close()
    except DeviceError as failure:
        if error is None:
            raise
        warn(str(failure))


def _raise(failures: Sequence[Exception]) -> None:
    """A leader that cannot be switched off is told, and is no reason to call the session a failure."""
    if failures:
        raise DeviceError("; ".join(dict.fromkeys(map(str, failures)))) from failures[0]


def _tell_failures(what: str, failures: Sequence[Exception]) -> None:
    for failure in dict.fromkeys(map(str, failures)):
        warn(f"while switching the {what} off: {failure}; cut its power if a motor still holds")


def _tell_timing(statistics: "RigStatistics", troubles: Sequence[str], cuts: Sequence[str]) -> None:
    if statistics.ticks:
        warn(f"timing: {statistics}")
    for trouble in troubles:
        warn(f"bus: {trouble}")
    for cut in cuts:
        warn(f"safety: {cut}")


def _tell_slowness(cell: "VirtualCell") -> None:
    status = cell.status()
    share = status["lost_s"] / max(status["running_s"], 1.0)
    if share > SLOW:
        warn(f"this computer is too slow for the virtual robot in real time: it lost {share:.0%} of the time")
