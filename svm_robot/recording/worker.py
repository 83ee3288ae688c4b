"""A thread that keeps one camera's frames while the episode runs, with back-pressure: nothing is ever dropped."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from svm_robot.data.episode_stats import PictureStats, Stats
from svm_robot.errors import DataError
from svm_robot.recording.disk import failure
from svm_robot.rollout.env import ImageArray


@dataclass(frozen=True)
class Waits:
    """How often the loop had to wait because a thread could not keep up."""

    times: int = 0
    total_s: float = 0.0
    longest_s: float = 0.0

    def __add__(self, other: "Waits") -> "Waits":
        return Waits(self.times + other.times, self.total_s + other.total_s, max(self.longest_s, other.longest_s))


class FrameWorker:
    """One camera, one thread. ``start``, ``put`` each frame, then ``finish`` or ``cancel``.

    A kind of file says in ``_keep`` what it makes of the frames of ``_frames``, and in ``_prove`` how it is known to be
    readable; both run on the thread.
    """

    def __init__(self, path: Path, waiting: int = 32, clock: Callable[[], float] = time.perf_counter) -> None:
        self.path, self.clock = path, clock
        self.stats = PictureStats()
        self.waits = Waits()
        self._queue: queue.Queue[ImageArray | None] = queue.Queue(maxsize=waiting)
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"encode {self.camera}", daemon=True)

    @property
    def camera(self) -> str:
        """Name of the camera: that of the folder."""
        return self.path.parent.name

    def start(self) -> None:
        """Begin; the file appears with the first frame."""
        self._thread.start()

    def put(self, frame: ImageArray) -> None:
        """Hand over (H, W, 3) RGB, which the caller must not change any more. Waits while the queue is full."""
        self._hand_over(frame)

    def finish(self, rows: int) -> Stats:
        """Wait until the file is on disk and proven readable; statistics of its pictures.

        Raises ``DataError`` when that failed or the file does not hold one frame for each of ``rows`` rows.
        """
        self._hand_over(None)
        self._thread.join()
        self._check()
        if self.stats.frames != rows:
            raise DataError(f"{self.camera}: the video holds {self.stats.frames} frames for {rows} rows")
        return self.stats.result()

    def cancel(self) -> None:
        """Stop at once; what was written is worthless. May be called at any time, also twice."""
        self._stop.set()
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(None)
        if self._thread.is_alive():
            self._thread.join()

    def _keep(self) -> None:
        """Write ``path`` from ``_frames``, and close it."""
        raise NotImplementedError

    def _prove(self) -> None:
        """Raise ``DataError`` unless ``path`` holds what ``_keep`` wrote, readable and on disk."""
        raise NotImplementedError

    def _frames(self) -> Iterator[ImageArray]:
        """The frames as they come, each counted once the caller has dealt with it."""
        while (frame := self._queue.get()) is not None and not self._stop.is_set():
            yield frame
            self.stats.add(frame)

    def _hand_over(self, item: ImageArray | None) -> None:
        began: float | None = None
        while True:
            running = self._thread.is_alive()  # asked first: a thread notes its error before it ends
            self._check()
            if not running:
                raise DataError(f"the encoder of {self.camera} is not running")
            try:
                self._queue.put(item, block=began is not None, timeout=0.2)
            except queue.Full:
                began = self.clock() if began is None else began
                continue
            if began is not None:
                waited = self.clock() - began
                self.waits += Waits(1, waited, waited)
            return

    def _check(self) -> None:
        if self._error is not None:
            raise failure(f"pictures of {self.camera} could not be saved", self._error) from self._error

    def _run(self) -> None:
        try:
            self._keep()
            if not self._stop.is_set():
                self._prove()
        except BaseException as error:  # noqa: BLE001  (handed to the thread that called finish or put)
            self._error = error
