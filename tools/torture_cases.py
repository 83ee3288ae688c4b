"""The cases of the torture: one kill or one full disk each, and everything that must hold after it."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import torture_verify as verify
from torture_film import CAMERAS, KINDS

HERE = Path(__file__).resolve().parent

KILLED_AT = ("frame", "encode", "sync", "rename", "label", "outside")
EPISODES = 3
"""Episodes that a killed session wants to record."""
SMALL_DISK = 8_000_000
"""Size of the disk that runs full [bytes]."""


@dataclass
class Case:
    """One kill, or one full disk, and what it led to."""

    number: int
    seed: int
    what: str
    pictures: str
    cameras: int
    died: bool = False
    saved: int = 0
    """Acknowledged in the session that died or failed."""
    error: str = ""
    problems: list[str] = field(default_factory=list)


class Child:
    """The process that forks a recording for each job."""

    def __init__(self) -> None:
        command = [sys.executable, "-W", "ignore::DeprecationWarning", str(HERE / "torture_child.py")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, kill_after_s: float | None = None, **job: Any) -> list[dict[str, Any]]:
        """Everything a job said; ``kill_after_s`` kills it from outside."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        heard: list[dict[str, Any]] = []
        for line in self._lines():
            heard.append(line)
            if line["kind"] == "started" and kill_after_s is not None:
                timer = threading.Timer(kill_after_s, kill, [line["pid"]])
                timer.start()
            if line["kind"] == "ended":
                if kill_after_s is not None:
                    timer.cancel()
                    timer.join()
                return heard
        raise SystemExit("the recording process went away")

    def _lines(self) -> Iterator[dict[str, Any]]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith('{"kind"'):  # a killed fork may leave half a line
                yield json.loads(line)

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Dataset:
    """A dataset that is tortured for some cases, and what was acknowledged of it."""

    def __init__(self, child: Child, root: Path, pictures: str, cameras: int, seed: int) -> None:
        self.child, self.root, self.pictures, self.cameras, self.seed = child, root, pictures, cameras, seed
        self.saved: list[verify.Saved] = []

    def record(self, episodes: int, **more: Any) -> list[dict[str, Any]]:
        """Record, and note what was acknowledged."""
        heard = self.child.run(
            root=str(self.root),
            pictures=self.pictures,
            cameras=self.cameras,
            seed=self.seed,
            episodes=episodes,
            **more,
        )
        names = ("episode", "uid", "outcome", "frames")
        self.saved += [verify.Saved(*(line[name] for name in names)) for line in heard if line["kind"] == "saved"]
        return heard

    def examine(self, aside: Path, theirs: bool) -> list[str]:
        """Everything that must hold: as it was left, after a repair of a copy, and after the next recording.

        ``theirs``: also for LeRobot's reader, which takes longest.
        """
        if not (self.root / "meta/info.json").exists():  # died before the dataset was there
            found = ["acknowledged episodes, but no dataset"] if self.saved else []
        else:
            found = verify.problems(self.root, self.pictures, self.saved)
            found += verify.lerobot_problems(self.root, self.pictures, self.cameras) if theirs else []
            found += verify.repair_problems(self.root, aside)
        heard = self.record(1)
        if heard[-1]["code"] != 0 or not any(line["kind"] == "saved" for line in heard):
            return [*found, f"the next recording failed: {heard[-2].get('text', heard[-2])}"]
        found += verify.problems(self.root, self.pictures, self.saved)
        return found + verify.healed_problems(self.root, [one.episode for one in self.saved])


def kills(child: Child, folder: Path, number: int, seed: int, theirs: int, each: int) -> Iterator[Case]:
    """Cases until ``number`` sessions were killed, spread over places, kinds of pictures and numbers of cameras.

    A session may end before its moment comes; it is examined all the same. ``each``: cases of one dataset.
    """
    data, reached, taken_s, died = None, Counter[str](), 0.0, 0
    for index in count():
        rng = random.Random(f"{seed} kill {index}")
        if data is None or index % each == 0:
            group = index // each
            pictures, cameras = KINDS[group % len(KINDS)], sorted(CAMERAS)[group // len(KINDS) % len(CAMERAS)]
            data = Dataset(child, folder / f"kills-{group}", pictures, cameras, rng.randrange(10**6))
            reached, taken_s = calibrate(child, folder / "whole", data)
        place = KILLED_AT[index % len(KILLED_AT)]
        case = Case(index, seed, place, data.pictures, data.cameras)
        if place == "outside":
            heard = data.record(EPISODES, kill_after_s=rng.uniform(0, taken_s))
        else:
            at = rng.randint(1, max(1, reached[place]))
            case.what = f"{place} {at} of {reached[place]}"
            heard = data.record(EPISODES, place=place, number=at)
        finish(case, heard, data, folder, theirs > 0 and index % theirs == 0)
        yield case
        died += case.died
        if died >= number:
            return
        if index % each == each - 1 and not case.problems:
            shutil.rmtree(data.root, ignore_errors=True)


def calibrate(child: Child, root: Path, like: Dataset) -> tuple[Counter[str], float]:
    """How often a session reaches each place, and how long it takes [s], when nobody kills it."""
    shutil.rmtree(root, ignore_errors=True)
    begin = time.perf_counter()
    heard = Dataset(child, root, like.pictures, like.cameras, like.seed).record(EPISODES)
    return Counter(heard[-2]["reached"]), time.perf_counter() - begin


def full_disks(child: Child, folder: Path, number: int, seed: int, theirs: int, mounts: bool) -> Iterator[Case]:
    """Cases of a disk that runs full, with and without the guard that ends an episode before."""
    for index in range(number):
        rng = random.Random(f"{seed} full {index}")
        pictures, cameras = KINDS[index % len(KINDS)], sorted(CAMERAS)[index % len(CAMERAS)]
        guarded = mounts and index % 4 == 3
        case = Case(index, seed, "", pictures, cameras)
        with small_disk(folder / f"disk-{index}", mounts) as disk:
            data = Dataset(child, disk / "d", pictures, cameras, rng.randrange(10**6))
            data.record(1)
            size = sum(path.stat().st_size for path in data.root.rglob("*") if path.is_file())
            level = rng.randint(0, 3 * size) + (1_000_000 if guarded else 0)
            if mounts:
                fill(disk / "filler", disk, level)
                heard = data.record(2 * EPISODES, keep_mb=1 if guarded else 0)
            else:
                heard = data.record(2 * EPISODES, file_limit=max(1, level // 8))
            case.what = f"{level / 1000:.0f} kB {'left' if mounts else '/ 8 a file'}{', guarded' if guarded else ''}"
            case.problems += told_rightly(heard, guarded, mounts) + verify.left_over(data.root)
            (disk / "filler").unlink(missing_ok=True)
            finish(case, heard, data, folder, theirs > 0 and index % theirs == 0)
        yield case


def told_rightly(heard: Sequence[Mapping[str, Any]], guarded: bool, mounts: bool) -> list[str]:
    """Whether the recording said what was wrong."""
    failed = [line for line in heard if line["kind"] == "failed"]
    if not failed:
        return [] if heard[-1]["code"] == 0 else [f"the recording died: {heard[-1]}"]
    named = ("nearly full", "no room") if guarded else ("ENOSPC",) if mounts else ("EFBIG",)
    text = failed[0]["text"]
    if failed[0]["error"] != "DiskError" or not any(name in text for name in named):
        return [f"the disk was full, but the error was {failed[0]['error']}: {text}"]
    return []


def finish(case: Case, heard: Sequence[Mapping[str, Any]], data: Dataset, folder: Path, theirs: bool) -> None:
    """What the case led to."""
    case.died = heard[-1]["code"] == -signal.SIGKILL
    case.saved = sum(line["kind"] == "saved" for line in heard)
    case.error = next((line["text"] for line in heard if line["kind"] == "failed"), "")
    try:
        case.problems += data.examine(folder / "repaired", theirs)
    except Exception as error:  # noqa: BLE001  (whatever a reader raises is a finding)
        case.problems.append(f"{type(error).__name__}: {error}")


@contextmanager
def small_disk(place: Path, mounts: bool) -> Iterator[Path]:
    """A folder on a small disk of its own, or a plain one where none can be mounted."""
    place.mkdir()
    if mounts:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "torture", str(place)], check=True)
    try:
        yield place
    finally:
        if mounts:
            subprocess.run(["umount", str(place)], check=True)


def fill(filler: Path, disk: Path, free: int) -> None:
    """Write a file until about ``free`` bytes are left."""
    size = shutil.disk_usage(disk).free - free
    with filler.open("wb") as file:
        file.write(bytes(max(0, size)))


def kill(pid: int) -> None:
    """SIGKILL, unless it is over already."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
