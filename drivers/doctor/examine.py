"""The whole examination, in the order in which one thing needs the other. Nothing is written to a motor."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from svm_robot.drivers.clock import Clock, MonotonicClock
from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
from svm_robot.drivers.doctor.arms import Arm, arms_of, close_line, open_line
from svm_robot.drivers.doctor.check_calibration import check_calibration
from svm_robot.drivers.doctor.check_cameras import Cameras, Keep, check_cameras, open_cameras, patient
from svm_robot.drivers.doctor.check_disk import check_disk
from svm_robot.drivers.doctor.check_line import READS, check_line
from svm_robot.drivers.doctor.check_motors import check_motors, roll
from svm_robot.drivers.doctor.check_ports import PortLook
from svm_robot.drivers.doctor.check_rates import check_rates
from svm_robot.drivers.doctor.check_software import check_software
from svm_robot.drivers.doctor.check_vitals import check_vitals
from svm_robot.drivers.doctor.finding import Finding, Level, note, problem
from svm_robot.drivers.doctor.subject import Subject, subject
from svm_robot.drivers.doctor.virtual import as_real
from svm_robot.drivers.rig import RigConfig
from svm_robot.errors import SvmRobotError


@dataclass(frozen=True)
class Tools:
    """What the examination uses of the world; tests give their own."""

    clock: Clock = field(default_factory=MonotonicClock)
    look: PortLook = field(default_factory=PortLook)
    statvfs: Callable[[Path], Any] = os.statvfs
    keep: Keep | None = None
    """Where small pictures go; None: nowhere."""
    bytes_per_s: float = 0.0
    """What one second of recording takes; 0: not known."""
    guessed: bool = True
    """``bytes_per_s`` was guessed."""
    reads: int = READS
    seconds: float = 3.0
    """How long joints and cameras are read together."""
    full: bool = False
    """Also look under every motor id and at every baud rate."""


def examine(rig: RigConfig, tools: Tools) -> Iterator[Finding]:
    """Findings as they come. Everything that was opened is closed when the iterator ends or is closed."""
    yield from check_software()
    yield from check_disk(Path(rig.dataset_root), tools.bytes_per_s, tools.guessed, tools.statvfs)
    with ExitStack() as stack:
        robot_config = rig.robot
        if isinstance(robot_config, VirtualSO101Config):
            if robot_config.link == "lockstep":
                what = "a lockstep robot has no port, motors or cameras to look at"
                yield note("motors", what, next="rigs/virtual_so101_wire.yaml has them")
                return
            robot_config = stack.enter_context(as_real(robot_config, rig.seed))
        looked_at: list[Subject] = []
        for kind, config in (("robot", robot_config), ("teleop", rig.teleop)):
            if config is not None:
                looked_at.append((yield from subject(kind, config, tools.look)))
        whole: list[Arm] = []
        for one in looked_at:
            rivals = [(rival.kind, rival.device) for rival in looked_at if rival is not one]
            whole += yield from _arms(one, rivals, rig, tools, stack)
        yield from _eyes(looked_at[0].device, whole, rig, tools, stack)


def _arms(
    one: Subject, rivals: list[tuple[str, Any]], rig: RigConfig, tools: Tools, stack: ExitStack
) -> Generator[Finding, None, list[Arm]]:
    """Everything about the motors of one device; returns its arms whose motors all answer."""
    if one.device is None or not one.reachable:
        return []
    arms = arms_of(one.device, one.kind, rig.bus)
    if not arms:
        what = f"the motors of {one.device.name} are on no bus that can be looked into from here"
        advice = "look with its own tools; ports, cameras, disk and software were looked at"
        yield note("motors", what, next=advice, arm=one.kind)
    there: dict[str, bool] = {}
    for arm in arms:
        there[arm.name] = yield from _told_at(arm, _arm(arm, rivals, tools, stack))
    return [arm for arm in arms if there[arm.name]]


def _told_at(arm: Arm, findings: Generator[Finding, None, bool]) -> Generator[Finding, None, bool]:
    """Each finding with arm and port; what raises becomes one too. Returns what ``findings`` returns."""
    try:
        while True:
            yield next(findings).at(arm.name, arm.port)
    except StopIteration as end:
        return bool(end.value)
    except (SvmRobotError, OSError) as error:
        cause, advice = "the line broke down while it was looked at", "check cable and power, then run doctor again"
        yield problem("motors", " ".join(str(error).split()), cause=cause, next=advice).at(arm.name, arm.port)
        return False


def _arm(arm: Arm, rivals: list[tuple[str, Any]], tools: Tools, stack: ExitStack) -> Generator[Finding, None, bool]:
    open_line(arm)
    stack.callback(close_line, arm)
    answers = roll(arm)
    yield from check_motors(arm, answers, tools.full)
    there = [motor_id for motor_id in answers.models if motor_id not in answers.twice]
    if there:
        yield from check_vitals(arm, there)
        yield from check_line(arm, there, tools.reads)
        yield from check_calibration(arm, there, rivals)
    return sorted(there) == sorted(arm.bus.ids)


def _eyes(robot: Any, arms: list[Arm], rig: RigConfig, tools: Tools, stack: ExitStack) -> Iterator[Finding]:
    """Cameras, then cameras and joints together."""
    cameras, found = Cameras({}), list[Finding]()
    if robot is not None:
        cameras, found = open_cameras(robot, patient(rig.safety.cameras), tools.clock)
        stack.callback(cameras.close)
    yield from found
    yield from check_cameras(cameras, tools.clock, rig.max_frame_age_s, tools.keep)
    robots = [arm for arm in arms if arm.kind == "robot"]
    if cameras.guards or robots:
        yield from check_rates(robots, cameras, rig.rate_hz, rig.max_frame_age_s, tools.seconds, tools.clock)


def is_fine(findings: Iterable[Finding]) -> bool:
    """No problem among them."""
    return all(finding.level is not Level.PROBLEM for finding in findings)
