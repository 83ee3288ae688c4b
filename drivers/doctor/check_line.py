"""How good the line is: round trips and errors over many readings of each motor."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from svm_robot.drivers.doctor.arms import Arm
from svm_robot.drivers.doctor.finding import Finding, note, ok, problem

READS = 500
HOPELESS = 10
"""So many lost in a row: this motor is not asked any further."""
BAD_SHARE = 0.02
"""A larger share of bad replies than this will stop sessions."""
SLOW_MS = 8.0
"""A median round trip above this leaves no time for six motors at 30 Hz where they are asked one by one."""


def check_line(arm: Arm, motor_ids: Sequence[int], reads: int = READS) -> Iterator[Finding]:
    """Every motor is read ``reads`` times, in turns, so that a burst of noise shows in all of them."""
    bus = arm.bus
    before = {motor_id: asdict(bus.counters[motor_id]) for motor_id in motor_ids}
    took: dict[int, list[float]] = {motor_id: [] for motor_id in motor_ids}
    failed: dict[int, int] = dict.fromkeys(motor_ids, 0)
    streak: dict[int, int] = dict.fromkeys(motor_ids, 0)
    for _ in range(reads):
        for motor_id in [motor_id for motor_id in motor_ids if streak[motor_id] < HOPELESS]:
            began_s = bus.clock.now_s()
            reply = bus.exchange.read(motor_id, *bus.positions.register, 1, bus.settings.reply_timeout_s)
            if reply is None:
                failed[motor_id], streak[motor_id] = failed[motor_id] + 1, streak[motor_id] + 1
            else:
                took[motor_id].append(1e3 * (bus.clock.now_s() - began_s))
                streak[motor_id] = 0
    bad = [motor_id for motor_id in motor_ids if failed[motor_id]]
    for motor_id in motor_ids:
        after = asdict(bus.counters[motor_id])
        kinds = {kind: after[kind] - count for kind, count in before[motor_id].items() if after[kind] > count}
        yield _judge(arm, motor_id, took[motor_id], failed[motor_id], kinds, everybody=len(bad) > len(motor_ids) // 2)


def _judge(
    arm: Arm, motor_id: int, took_ms: list[float], failed: int, kinds: dict[str, int], everybody: bool
) -> Finding:
    joint, asked = arm.bus.names[motor_id], len(took_ms) + failed
    p50, p99 = (float(value) for value in np.percentile(took_ms, [50, 99])) if took_ms else (0.0, 0.0)
    values = {"reads": asked, "failed": failed, "p50_ms": p50, "p99_ms": p99, **kinds}
    what = f"round trip {p50:.2f} ms (p99 {p99:.2f}), {failed} of {asked} readings failed"
    if failed:
        told = ", ".join(f"{kind} {count}" for kind, count in kinds.items() if kind != "faults")
        what += f" ({told})"
        cause = (
            "1. a weak supply; 2. the USB cable or adapter; 3. a loose plug near the first motor"
            if everybody
            else f"1. the cable to {joint}; 2. its plug; 3. the motor itself"
        )
        make = problem if failed > BAD_SHARE * asked else note
        advice = "reseat these plugs, then run doctor again"
        return make("line", what, cause=cause, next=advice, joint=joint, values=values)
    if p50 > SLOW_MS:
        cause = "the adapter's latency timer, a USB hub, or a busy computer"
        advice = "plug the adapter into the computer itself"
        return note("line", what, cause=cause, next=advice, joint=joint, values=values)
    return ok("line", what, joint=joint, values=values)
