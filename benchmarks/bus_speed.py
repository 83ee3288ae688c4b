"""How fast six motors are read and written as a group: LeRobot's bus and ours, in turns, on one wire.

.venv/bin/python benchmarks/bus_speed.py [--calls=200] [--rounds=10] [--wire-time] [--json]
"""

import argparse
import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from servo_chains import Family, families
from table import Cell, show

from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.virtual.wire import Wire

Times = dict[str, list[float]]
RETRIES = 5
"""A computer that pauses is no dead motor: both buses ask again."""
PATIENT = BusConfig(retries=RETRIES, reply_timeout_s=0.05, deadline_s=1.0, max_joint_age_s=5.0)
"""As patient as LeRobot's, which waits 50 ms for an answer."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--calls", type=int, default=200, help="calls in one turn")
    options.add_argument("--rounds", type=int, default=10, help="turns of each bus")
    options.add_argument("--wire-time", action="store_true", help="replies take as long as on a real 1 Mbaud line")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    rows: list[dict[str, Cell]] = []
    for family in families():
        with served(family, chosen.wire_time) as port:
            rows += compare(family, port, chosen.calls, chosen.rounds)
    show(rows, chosen.json)


@contextmanager
def served(family: Family, wire_time: bool) -> Iterator[str]:
    """The servos on a port, in a process of their own, as motors are."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(family.name, wire_time, theirs))
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("end")
        process.join()


def serve(name: str, wire_time: bool, parent: Connection) -> None:
    family = next(family for family in families() if family.name == name)
    wire = Wire(family.chain(), wire_time=wire_time)
    wire.open()
    parent.send(wire.port)
    parent.recv()
    wire.close()


def compare(family: Family, port: str, calls: int, rounds: int) -> list[dict[str, Cell]]:
    """Turn by turn; the first turn of each warms up and does not count."""
    times: dict[str, Times] = {"LeRobot": {}, "ours": {}}
    for turn in range(rounds + 1):
        for who, kind in (("LeRobot", family.theirs), ("ours", partial(family.ours, config=PATIENT))):
            measured = one_turn(kind(port, family.motors()), calls)
            for what, seconds in measured.items() if turn else ():
                times[who].setdefault(what, []).extend(seconds)
    return [row(family.name, what, times["LeRobot"][what], times["ours"][what]) for what in times["ours"]]


def one_turn(bus: Any, calls: int) -> Times:
    """Seconds of each call."""
    bus.connect(handshake=False)
    goal = bus.sync_read("Present_Position", normalize=False)

    def read() -> None:
        bus.sync_read("Present_Position", normalize=False, num_retry=RETRIES)

    def write() -> None:
        bus.sync_write("Goal_Position", goal, normalize=False)

    def both() -> None:
        read()
        write()

    measured = {"read 6": timed(read, calls), "read 6, write 6": timed(both, calls)}
    bus.disconnect(disable_torque=False)
    return measured


def timed(call: Callable[[], None], calls: int) -> list[float]:
    seconds = []
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return seconds


def row(family: str, what: str, theirs: list[float], ours: list[float]) -> dict[str, Cell]:
    """Medians and 99th percentiles in milliseconds; ``ratio`` below 1: ours is faster."""
    t50, t99 = 1e3 * np.percentile(theirs, (50, 99))
    o50, o99 = 1e3 * np.percentile(ours, (50, 99))
    return {
        "motors": family,
        "call": what,
        "LeRobot p50 ms": float(t50),
        "ours p50 ms": float(o50),
        "ratio": float(o50 / t50),
        "LeRobot p99 ms": float(t99),
        "ours p99 ms": float(o99),
    }


if __name__ == "__main__":
    main()
