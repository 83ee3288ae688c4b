"""How well a rig keeps time over the wire: late ticks, frame ages, and the speed of LeRobot's bus on it.

.venv/bin/python benchmarks/real_time.py [RIG] [--seconds=60] [--rate=30] [--json]
"""

import argparse
import dataclasses
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from svm_robot.drivers.rig import RigConfig
from svm_robot.drivers.rig_env import RigEnv
from svm_robot.scripts.cell import open_cell
from svm_robot.scripts.cli import parse

CALLS = 500


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("rig", nargs="?", default="rigs/virtual_so101_wire.yaml")
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--rate", type=float, default=30.0)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    rig = parse(RigConfig, [f"--rate_hz={chosen.rate}", "--max_frame_age_s=10"], rig=chosen.rig)
    with open_cell(rig) as cell:
        env = cell.env
        if not isinstance(env, RigEnv):
            raise SystemExit(f"{chosen.rig} is in lockstep, where time does not count; choose a rig in real time")
        figures = measure(env, round(chosen.seconds * chosen.rate))
    print(json.dumps(figures) if chosen.json else "\n".join(f"{name:<24} {value}" for name, value in figures.items()))


def measure(env: RigEnv, steps: int) -> dict[str, object]:
    """Hold the arm still for ``steps`` ticks with both cameras, then call the bus as fast as it goes."""
    env.reset(0)
    times, motions = [], []
    for _ in range(steps):
        seen = env.observe()
        env.apply(seen.state)
        times.append(seen.state_time_s)
        motions.append(env.clock.now_s() - seen.state_time_s)
    told = dataclasses.asdict(env.statistics())
    bus = env.robot.bus
    goal = bus.sync_read("Present_Position")
    return {
        "rate_hz": (len(times) - 1) / (times[-1] - times[0]),
        **told,
        "cameras_and_action_p50_s": float(np.median(motions)),
        "sync_read_hz": rate(lambda: bus.sync_read("Present_Position", num_retry=2)),
        "sync_write_and_read_hz": rate(lambda: write_and_read(bus, goal)),
    }


def write_and_read(bus: Any, goal: dict[str, float]) -> None:
    """One control step of the arm. A write alone is not acknowledged, so its own rate would be that of a buffer."""
    bus.sync_write("Goal_Position", goal)
    bus.sync_read("Present_Position", num_retry=2)


def rate(call: Callable[[], object]) -> float:
    """Calls per second."""
    begun = time.perf_counter()
    for _ in range(CALLS):
        call()
    return CALLS / (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
