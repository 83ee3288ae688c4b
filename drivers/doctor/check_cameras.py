"""Cameras: found, opened in the mode asked for, what really arrives, and a picture to look at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.cameras.group import guard_cameras
from svm_robot.drivers.cameras.guard import FINDER, GuardedCamera
from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.drivers.cameras.measure import Measured, measure
from svm_robot.drivers.cameras.mode import asked_mode, told_mode
from svm_robot.drivers.cameras.watch import blankness
from svm_robot.drivers.clock import Clock
from svm_robot.drivers.doctor.finding import Finding, note, ok, problem
from svm_robot.errors import SvmRobotError

SLOW_SHARE = 0.9
"""Fewer pictures than this share of what was asked for are worth a note."""
DIM = "dim light halves the rate of many cameras; several on one USB hub share its bandwidth"

Keep = Callable[[str, NDArray[np.uint8]], str]
"""Takes role and picture (H, W, 3), writes it somewhere and says where."""


@dataclass
class Cameras:
    """Those of one robot that are open."""

    guards: dict[str, GuardedCamera]

    def close(self) -> None:
        """Close all; a camera that cannot be closed stops no other."""
        for guard in self.guards.values():
            try:
                guard.disconnect()
            except SvmRobotError:
                continue


def open_cameras(robot: Any, limits: CameraLimits, clock: Clock) -> tuple[Cameras, list[Finding]]:
    """Open what opens; a finding for each camera that does not, and for what its name is worth."""
    notes: list[str] = []
    group = guard_cameras(robot, limits, clock, notes.append)
    found: list[Finding] = []
    opened: dict[str, GuardedCamera] = {}
    paths: dict[str, str] = {}
    for role, guard in group.guards.items():
        try:
            told = guard.resolve()
            if guard.path and guard.path in paths:
                what = f"is the same device as '{paths[guard.path]}' ({guard.device})"
                found.append(problem("camera", what, cause="one of the two is named wrongly", next=FINDER, camera=role))
                continue
            paths[guard.path] = role
            found += [note("camera", text, camera=role) for text in told]
            guard.connect()
        except SvmRobotError as error:
            found.append(_not_open(role, str(error)))
        else:
            opened[role] = guard
    return Cameras(opened), found


def check_cameras(cameras: Cameras, clock: Clock, max_frame_age_s: float, keep: Keep | None) -> Iterator[Finding]:
    """Mode asked for, told and measured, whether the picture shows anything, and where a small one lies."""
    measured = _measured(cameras, clock)
    for role, guard in cameras.guards.items():
        one = measured.get(role)
        if isinstance(one, Finding):
            yield one
        elif one is None or one.picture is None or one.fps == 0:
            yield _dumb(role)
        else:
            yield from _judge(role, guard, one, max_frame_age_s, keep(role, one.picture) if keep else "")


def _measured(cameras: Cameras, clock: Clock) -> dict[str, Measured | Finding]:
    """All at once, as in a session; where one of them fails, one by one, so that the others are still measured."""
    guards = cameras.guards
    try:
        return dict(measure(guards, clock))
    except SvmRobotError:
        found: dict[str, Measured | Finding] = {}
        for role, guard in guards.items():
            try:
                found |= measure({role: guard}, clock)
            except SvmRobotError as error:
                found[role] = _dumb(role, str(error).partition("; nothing moves")[0])
        return found


def _judge(role: str, guard: GuardedCamera, one: Measured, max_age_s: float, file: str) -> Iterator[Finding]:
    picture, camera, told = one.picture, guard.inner, told_mode(guard.inner)
    assert picture is not None
    got = f"{picture.shape[1]}x{picture.shape[0]} at {one.fps:.1f}/s"
    what = f"asked for {asked_mode(camera)}, {f'the device says {told}, ' if told else ''}{got} arrive"
    what += f"; picture: {file}" if file else ""
    values = {"asked": str(asked_mode(camera)), "told": str(told or ""), "measured": got, "thumbnail": file}
    where: dict[str, Any] = {"camera": role, "values": values}
    why = blankness(picture)
    if (camera.height or picture.shape[0], camera.width or picture.shape[1]) != picture.shape[:2]:
        yield problem("camera", what, cause="the camera does not have this size", next=FINDER, **where)
    elif why:
        yield problem("camera", f"{why} {what}", cause="lens cap, light, exposure", next="look at the picture", **where)
    elif 1 / one.fps > max_age_s:
        advice = f"ask for a mode with more pictures per second ({FINDER} lists them), or raise max_frame_age_s"
        yield problem("camera", f"too slow for max_frame_age_s {max_age_s:g}: {what}", cause=DIM, next=advice, **where)
    elif one.fps < SLOW_SHARE * (camera.fps or 0):
        yield note("camera", f"slower than asked for: {what}", cause=DIM, next="more light, another socket", **where)
    else:
        yield ok("camera", what, **where)


def _not_open(role: str, text: str) -> Finding:
    cause = "unplugged, in use by another program, or another mode than it has"
    told = text.removeprefix(f"camera '{role}' ").removesuffix(f"; {FINDER} lists what there is")
    return problem("camera", told, cause=cause, next=f"{FINDER} lists what there is", camera=role)


def _dumb(role: str, what: str = "it is open, but no new picture comes") -> Finding:
    cause = "it hangs or was unplugged, or its USB socket gives too little"
    return problem("camera", what, cause=cause, next="plug it in again, into the computer itself", camera=role)


def patient(limits: CameraLimits) -> CameraLimits:
    """The rig's limits without the check of the rate, which is a finding here and no refusal."""
    return replace(limits, least_rate=0.0)
