"""Joints and cameras together at the rig's rate, as a session reads them, without sending anything."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from svm_robot.drivers.camera_frames import timed_frame
from svm_robot.drivers.clock import Clock
from svm_robot.drivers.doctor.arms import Arm
from svm_robot.drivers.doctor.check_cameras import Cameras
from svm_robot.drivers.doctor.finding import Finding, note, ok, problem
from svm_robot.drivers.ticker import Ticker
from svm_robot.errors import SvmRobotError

ENOUGH = 0.95
"""Share of the asked rate that counts as reached."""
LATE_SHARE = 0.5
"""A tick later than this share of its period is worth a note (99 of 100 must be earlier)."""


class Watched:
    """Ages of pictures, and what failed, by role."""

    def __init__(self) -> None:
        self.ages_s: dict[str, list[float]] = {}
        self.times_s: dict[str, set[float]] = {}
        self.failed: dict[str, SvmRobotError] = {}

    def look(self, role: str, guard: Any, clock: Clock, max_age_s: float) -> None:
        """Take the newest picture; after a failure no more."""
        if role in self.failed:
            return
        try:
            _, taken_s = timed_frame(guard.inner, guard.read_latest(1e3 * max_age_s), clock.now_s())
        except SvmRobotError as error:
            self.failed[role] = error
            return
        self.ages_s.setdefault(role, []).append(clock.now_s() - taken_s)
        self.times_s.setdefault(role, set()).add(taken_s)


def check_rates(
    arms: Sequence[Arm], cameras: Cameras, rate_hz: float, max_age_s: float, seconds: float, clock: Clock
) -> Iterator[Finding]:
    """Read everything at ``rate_hz`` for ``seconds``. ``arms``: those of which all motors answer."""
    ticker, watched, failures = Ticker(rate_hz, clock), Watched(), 0
    starts_s: list[float] = []
    ticks = max(2, round(seconds * rate_hz))
    while ticker.ticks + ticker.missed < ticks:
        ticker.wait()
        starts_s.append(clock.now_s())
        for arm in arms:
            try:
                arm.bus.sync_read("Present_Position", normalize=False)
            except SvmRobotError:
                failures += 1
        for role, guard in cameras.guards.items():
            watched.look(role, guard, clock, max_age_s)
    took_s = starts_s[-1] - starts_s[0]
    yield _judge(ticker, rate_hz, (len(starts_s) - 1) / took_s if took_s else 0.0, failures, len(arms))
    for role in cameras.guards:
        yield _camera(role, watched, took_s)


def _judge(ticker: Ticker, asked_hz: float, got_hz: float, failures: int, arms: int) -> Finding:
    p99_ms = 1e3 * float(np.percentile(ticker.lateness_s, 99)) if ticker.lateness_s else 0.0
    values = {"asked_hz": asked_hz, "achieved_hz": got_hz, "missed": ticker.missed, "p99_late_ms": p99_ms}
    read = f"joints of {arms} arm{'s' * (arms != 1)} and the cameras" if arms else "the cameras"
    what = (
        f"{read} at {got_hz:.1f} of {asked_hz:g} Hz, {ticker.missed} ticks missed, "
        f"99 of 100 less than {p99_ms:.1f} ms late"
    )
    if failures:
        told = f"{what}; {failures} readings of the joints failed"
        cause = "the errors of the line above"
        return problem("rates", told, cause=cause, next="reseat the plugs", values={**values, "failed": failures})
    if got_hz < ENOUGH * asked_hz:
        cause = "this computer is too slow, or busy with other programs"
        advice = f"lower rate_hz to {max(1, int(got_hz * 0.9))}, the cameras' sizes, or the load of this computer"
        return problem("rates", what, cause=cause, next=advice, values=values)
    if p99_ms > 1e3 * LATE_SHARE / asked_hz:
        return note("rates", what, cause="other programs need the processor", next="end them", values=values)
    return ok("rates", what, values=values)


def _camera(role: str, watched: Watched, took_s: float) -> Finding:
    if role in watched.failed:
        error = watched.failed[role]
        what = str(error).partition("; nothing moves")[0]
        cause = "the device or its driver hangs, or the USB bus gives too little"
        return problem("camera", what, cause=cause, next="plug it in again, into the computer itself", camera=role)
    ages = watched.ages_s[role]
    fresh = (len(watched.times_s[role]) - 1) / took_s if took_s else 0.0
    values = {"median_age_ms": 1e3 * float(np.median(ages)), "worst_age_ms": 1e3 * max(ages), "new_per_s": fresh}
    median, worst = values["median_age_ms"], values["worst_age_ms"]
    what = f"pictures {median:.0f} ms old (worst {worst:.0f}), {fresh:.1f} new ones per second"
    return ok("rates", what, camera=role, values=values)
