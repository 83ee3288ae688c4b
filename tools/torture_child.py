"""Records for the torture, and dies where it is told to.

Reads one job as a JSON line, forks, and lets the fork do it, so that what takes time to load is loaded once. A fork
says ``started``, ``saved`` after each acknowledged episode, and ``counted`` or ``failed`` at the end; the process it
came from says ``ended``.
"""

import json
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torture_film import Film

from svm_robot.data.episode_stats import PictureStats
from svm_robot.data.labels import FILE
from svm_robot.errors import SvmRobotError
from svm_robot.recording.disk import Reserve
from svm_robot.recording.encoder import Encoding
from svm_robot.recording.recorder import Recorder
from svm_robot.recording.session import record
from svm_robot.recording.worker import FrameWorker

PLACES = ("frame", "encode", "sync", "rename", "label")
"""Where a fork can be told to die: as a frame is handed over, on an encoder's thread, around an fsync, around a rename
(each file of a commit gets its name by one), and in the middle of a line of the label log."""


class Trap:
    """Counts how often each place is reached, and kills this process at the ``number``-th time at ``place``."""

    def __init__(self, place: str | None, number: int) -> None:
        self.place, self.number = place, number
        self.reached: Counter[str] = Counter()

    def step(self, place: str) -> bool:
        """True when this is where to die."""
        self.reached[place] += 1
        return place == self.place and self.reached[place] == self.number

    def around(self, place: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """``call``, with a place to die before it and one after it."""

        def trapped(*args: Any, **options: Any) -> Any:
            if self.step(place):
                die()
            result = call(*args, **options)
            if self.step(place):
                die()
            return result

        return trapped

    def in_labels(self, call: Callable[[int, bytes], int]) -> Callable[[int, bytes], int]:
        """``os.write`` that dies with half a label written."""

        def trapped(handle: int, data: bytes) -> int:
            if Path(f"/proc/self/fd/{handle}").resolve().name == FILE and self.step("label"):
                call(handle, data[: len(data) // 2])
                die()
            return call(handle, data)

        return trapped

    def set(self) -> None:
        """Lay the trap in this process."""
        FrameWorker.put = self.around("frame", FrameWorker.put)  # type: ignore[method-assign]
        PictureStats.add = self.around("encode", PictureStats.add)  # type: ignore[method-assign]
        os.fsync = self.around("sync", os.fsync)
        os.replace = self.around("rename", os.replace)
        os.write = self.in_labels(os.write)  # type: ignore[assignment]


def die() -> None:
    """The end, without a last word."""
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def say(kind: str, **values: Any) -> None:
    """One line for the parent."""
    sys.stdout.write(json.dumps({"kind": kind, **values}) + "\n")
    sys.stdout.flush()


def work(job: dict[str, Any]) -> None:
    """Record the episodes of a job."""
    trap = Trap(job.get("place"), job.get("number", 0))
    trap.set()
    if job.get("file_limit"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["file_limit"], resource.RLIM_INFINITY))
    film = Film(job["cameras"])
    reserve = Reserve(job.get("keep_mb", 0), ahead_s=0.0, every_s=0.0)
    recorder = Recorder(
        Path(job["root"]),
        film.spec,
        "torture",
        encoding=Encoding(pictures=job["pictures"]),
        by="torture",
        reserve=reserve,
    )
    try:
        recorder.open()
        record(
            film,
            film,
            film,
            recorder,
            episodes=job["episodes"],
            seed=job["seed"],
            max_steps=1000,
            progress=lambda summary, tally: say(
                "saved", episode=summary.episode, uid=summary.uid, outcome=str(summary.outcome), frames=summary.frames
            ),
        )
        say("counted", reached=dict(trap.reached))
    except SvmRobotError as error:
        say("failed", error=type(error).__name__, text=str(error), notes=getattr(error, "__notes__", []))
    finally:
        recorder.close()


def main() -> None:
    """One fork for each line."""
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                say("started", pid=os.getpid())
                work(job)
                code = 0
            except BaseException as error:  # noqa: BLE001  (a fork must not go on as its parent)
                say("failed", error=type(error).__name__, text=str(error), notes=traceback.format_exception(error))
            finally:
                sys.stdout.flush()
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        say("ended", code=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
