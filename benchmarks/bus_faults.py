"""What damaged, lost, late and foreign bytes, dead and overloaded motors and a pulled cable do to a motor bus.

.venv/bin/python benchmarks/bus_faults.py [--ticks=10000] [--share=0.01] [--only=corrupt,late] [--seed=0] [--json]

LeRobot's bus and ours go through the same scripted faults. Every joint has another position in every tick, and the
position that is read is compared with the one that the servo had: a difference is a wrong value.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from servo_chains import Family, families
from table import Cell, show

from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.joints import MOTORS
from svm_robot.drivers.virtual.wire import Wire
from svm_robot.drivers.virtual.wire_faults import WireFaults

LATE_S = 0.06
"""Later than either bus waits for a reply."""
GIVE_UP = 20
"""A bus that fails in so many ticks in a row will not come back."""
STEP, FIRST, LAST = 7, 500, 3500
"""Counts that each joint moves in a tick, and between which it does."""
OURS = BusConfig(max_joint_age_s=1.0)
"""As in the rig files that ship, but for a computer that pauses while it is measured."""
ABSORBABLE = ("corrupt", "lost", "late", "short", "junk", "all five")
STOPPING = ("dead motor", "overload", "unplugged")


@dataclass
class Outcome:
    """What one bus made of one kind of fault."""

    wrong: int = 0
    """Joints read with a value that the servo did not have, and taken as good."""
    held: int = 0
    """Joints given as the last good value, and marked so."""
    failed: int = 0
    """Ticks that ended in an exception."""
    seconds: list[float] = field(default_factory=list)
    stopped_after: int | None = None
    """Ticks between the fault and the first exception."""
    message: str = ""
    """Of the first exception."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--ticks", type=int, default=10_000)
    options.add_argument("--share", type=float, default=0.01, help="of the replies that are spoiled")
    options.add_argument("--only", default=",".join(ABSORBABLE + STOPPING), help="kinds of fault, with commas")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    sys.setswitchinterval(0.0005)  # the servos answer from a thread, and LeRobot's bus waits in a busy loop
    rows = []
    for family in families():
        for kind in chosen.only.split(","):
            for who in ("LeRobot", "ours"):
                outcome = campaign(family, who, kind, chosen.ticks, chosen.share, chosen.seed)
                rows.append(row(family, who, kind, chosen.ticks, outcome))
    show(rows, chosen.json)


def campaign(
    family: Family, who: str, kind: str, ticks: int, share: float, seed: int, config: BusConfig = OURS
) -> Outcome:
    """One bus, one kind of fault, on servos of its own. ``config`` is that of our bus."""
    wire = Wire(family.chain())
    wire.open()
    arm = wire.port, family.motors()
    bus = family.theirs(*arm) if who == "LeRobot" else family.ours(*arm, config=config)
    bus.connect()
    bus.enable_torque()
    try:
        if kind in ABSORBABLE:
            wire.bus.set_faults(spoiled(kind, 6 * ticks, share, seed))
            return run(wire, bus, family.retries, range(ticks))
        outcome = run(wire, bus, family.retries, range(ticks // 2))
        break_it(wire, kind)
        broken = run(wire, bus, family.retries, range(ticks // 2, ticks), stop=True)
        broken.seconds += outcome.seconds
        return broken
    finally:
        bus.port_handler.closePort()
        wire.close()


def spoiled(kind: str, replies: int, share: float, seed: int) -> WireFaults:
    """A share of the replies, drawn at random: one kind, or a fifth of the share of each of the five."""
    rng = np.random.default_rng(seed)
    kinds = ABSORBABLE[:-1] if kind == "all five" else (kind,)
    draws = {name: np.flatnonzero(rng.random(2 * replies) < share / len(kinds)) + 1 for name in kinds}
    numbers = {name: draws.get(name, np.array([], int)).tolist() for name in ABSORBABLE[:-1]}
    return WireFaults(
        flips=tuple((number, int(rng.integers(64))) for number in numbers["corrupt"]),
        lose=numbers["lost"],
        late=numbers["late"],
        truncate=numbers["short"],
        junk=numbers["junk"],
        late_s=LATE_S,
    )


def break_it(wire: Wire, kind: str) -> None:
    """From now on."""
    if kind == "unplugged":
        wire.close()
    elif kind == "dead motor":
        wire.bus.set_faults(WireFaults(dead=(4,)))
    else:
        wire.bus.set_faults(WireFaults(errors={6: 32}))


def run(wire: Wire, bus: Any, retries: int, ticks: Sequence[int], stop: bool = False) -> Outcome:
    """Read, compare, write; ``stop``: until the first exception, as a control loop would."""
    outcome, in_a_row = Outcome(), 0
    for tick in ticks:
        truth = place(wire, tick)
        begun = time.perf_counter()
        try:
            read = bus.sync_read("Present_Position", normalize=False, num_retry=retries)
            outcome.seconds.append(time.perf_counter() - begun)
            judge(outcome, read, truth, getattr(bus, "held", ()))
            bus.sync_write("Goal_Position", truth, normalize=False)
            in_a_row = 0
        except Exception as error:  # noqa: BLE001  (whatever it is: it would end the control loop)
            outcome.seconds.append(time.perf_counter() - begun)
            outcome.failed += 1
            in_a_row += 1
            if outcome.stopped_after is None:
                outcome.stopped_after, outcome.message = tick - ticks[0] + 1, " ".join(str(error).split())
            if stop or in_a_row == GIVE_UP:
                break
    return outcome


def place(wire: Wire, tick: int) -> dict[str, int]:
    """Put every joint where it is in this tick; joint -> counts."""
    truth = {}
    with wire.bus.lock:
        for number, servo in enumerate(wire.bus.servos):
            count = FIRST + triangle(STEP * tick + 311 * number, LAST - FIRST)
            servo.measure(count, 0, 0)
            truth[MOTORS[number]] = count
    return truth


def triangle(value: int, span: int) -> int:
    """Up and down again, without a jump."""
    inside = value % (2 * span)
    return min(inside, 2 * span - inside)


def judge(outcome: Outcome, read: dict[str, int], truth: dict[str, int], held: Sequence[str]) -> None:
    for joint, count in truth.items():
        if joint in held:
            outcome.held += 1
        elif read[joint] != count:
            outcome.wrong += 1


def row(family: Family, who: str, kind: str, ticks: int, outcome: Outcome) -> dict[str, Cell]:
    stops = kind in STOPPING
    return {
        "motors": family.name,
        "fault": kind,
        "bus": who,
        "ticks": len(outcome.seconds),
        "wrong values": outcome.wrong,
        "ticks failed": None if stops else outcome.failed + ticks - len(outcome.seconds),
        "held": outcome.held,
        "longest tick ms": 1e3 * max(outcome.seconds),
        "stops after ticks": outcome.stopped_after if stops else None,
        "says": outcome.message[:70] if outcome.message else "-",
    }


if __name__ == "__main__":
    main()
