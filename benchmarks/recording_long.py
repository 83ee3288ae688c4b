"""A long recording through our loop and through LeRobot's: dropped frames, jitter, overhead, pause, memory.

Two cameras of 640x480 deliver 30 pictures a second on threads, six joints are read at 30 Hz. Each side runs in its own
process and takes episodes in turns with the others, idle meanwhile. LeRobot's side is ``record_loop`` of
``lerobot-record`` with streaming encoding (h264, ultrafast), made safe against a kill by finalize and resume after each
episode: ``lerobot`` with its own picture quality, ``lerobot_same`` with ours.

    python benchmarks/recording_long.py [--json] [--minutes=0.3] [--episode_s=9] [--sides=ours,lerobot,lerobot_same]

Jitter: deviation of the time between two readings from the period. Overhead: what the loop's thread does beside waiting
and beside the devices, per tick. Cores: processor time of the whole side, its encoders and camera threads included.
"""

import argparse
import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import av
import numpy as np
from paced_devices import ROLES
from recording_sides import RATE_HZ, serve
from table import Cell, show

SIDES = ("ours", "lerobot", "lerobot_same")
WARM_UP_S = 2.0

Episode = dict[str, Any]


@contextmanager
def side(name: str, root: Path) -> Iterator[Connection]:
    """A side's process; it has ended, and its dataset is closed, when the block is left."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=serve, args=(name, root, there), name=name)
    process.start()
    there.close()
    try:
        yield here
        here.send(None)
        here.recv()
    finally:
        process.join(10)
        process.terminate()
        process.join()


def take_turns(names: list[str], folder: Path, rounds: int, seconds: float) -> dict[str, list[Episode]]:
    """``rounds`` episodes of each side, in turns, after a short one to warm up."""
    taken: dict[str, list[Episode]] = {name: [] for name in names}
    with ExitStack() as stack:
        links = {name: stack.enter_context(side(name, folder / name)) for name in names}
        for length in [WARM_UP_S, *[seconds] * rounds]:
            for name, link in links.items():
                link.send(length)
                taken[name].append(link.recv())
    return {name: episodes[1:] for name, episodes in taken.items()}


def row(name: str, episodes: list[Episode], root: Path, seconds: float) -> dict[str, Cell]:
    """The figures of one side."""
    gaps = np.concatenate([np.diff(episode["ticks"]) for episode in episodes])
    deviation = 1e3 * np.abs(gaps - 1 / RATE_HZ)
    p50, p99 = np.percentile(deviation, [50, 99])
    ticks = sum(len(episode["ticks"]) for episode in episodes)
    wall = sum(episode["wall_s"] for episode in episodes)
    pauses = [episode["pause_s"] for episode in episodes]
    memory = [episode["rss"] / 2**20 for episode in episodes]
    rows, frames = count(root)
    due = round((seconds * len(episodes) + WARM_UP_S) * RATE_HZ)
    return {
        "side": name,
        "episodes": len(episodes),
        "rows_due": due,
        "rows_missing": due - rows,
        "frames_dropped": len(ROLES) * rows - frames,
        "rate_hz": float(1 / gaps.mean()),
        "jitter_p50_ms": float(p50),
        "jitter_p99_ms": float(p99),
        "jitter_max_ms": float(deviation.max()),
        "overhead_ms": 1e3 * sum(episode["overhead_s"] for episode in episodes) / ticks,
        "loop_cpu_ms": 1e3 * sum(episode["loop_cpu_s"] for episode in episodes) / ticks,
        "cores": sum(episode["cpu_s"] for episode in episodes) / wall,
        "pause_p50_s": float(np.median(pauses)),
        "pause_max_s": max(pauses),
        "MB_start": memory[0],
        "MB_middle": memory[len(memory) // 2],
        "MB_end": memory[-1],
        "disk_MB": sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) / 1e6,
    }


def count(root: Path) -> tuple[int, int]:
    """(rows of the dataset, frames in all of its videos)."""
    import pyarrow.parquet as pq

    rows = sum(pq.read_metadata(file).num_rows for file in root.glob("data/*/*.parquet"))
    frames = 0
    for file in root.glob("videos/*/*/*.mp4"):
        with av.open(str(file)) as container:
            frames += sum(1 for packet in container.demux(video=0) if packet.size)
    return rows, frames


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--minutes", type=float, default=0.3, help="recording time of each side [min]")
    parser.add_argument("--episode_s", type=float, default=None, help="length of an episode [s]; otherwise 30, or less")
    parser.add_argument("--sides", default="ours,lerobot", help=f"some of {','.join(SIDES)}")
    options = parser.parse_args()
    names = options.sides.split(",")
    if not set(names) <= set(SIDES):
        parser.error(f"--sides: known are {', '.join(SIDES)}")
    seconds = options.episode_s or min(30.0, 30 * options.minutes)
    rounds = max(1, round(60 * options.minutes / seconds))
    with tempfile.TemporaryDirectory() as name:
        taken = take_turns(names, Path(name), rounds, seconds)
        show([row(who, episodes, Path(name) / who, seconds) for who, episodes in taken.items()], options.json)


if __name__ == "__main__":
    main()
