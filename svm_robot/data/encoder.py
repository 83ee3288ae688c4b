"""Encodes one camera's frames while the episode runs, on a thread of its own.

A full queue makes the caller wait (back-pressure); no frame is ever dropped. After the last frame the thread puts the
file on disk and reads it back, so that what was saved is known to be readable.
"""

import contextlib
import logging
import queue
import threading
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from svm_robot.data.episode_stats import PictureStats, Stats
from svm_robot.data.files import sync
from svm_robot.data.video import SMALL, check_frames
from svm_robot.errors import DataError
from svm_robot.rollout.env import ImageArray

logging.getLogger("libav").setLevel(logging.ERROR)


@dataclass(frozen=True)
class Encoding:
    """How pictures are kept."""

    vcodec: str = "h264"  # video codec
    pix_fmt: str = "yuv444p"  # full colour resolution: halved chroma smears small coloured objects
    crf: int = 18  # quality of large pictures, 0 is lossless
    small_crf: int = 0  # quality of pictures below 320x240: a policy may see these pixel for pixel, so nothing is lost
    preset: str = "ultrafast"  # the encoder shares the processor with the control loop
    g: int = 2  # every g-th frame can be decoded on its own
    threads: int = 1  # per camera

    def quality(self, height: int, width: int) -> int:
        """The ``crf`` for pictures of this size."""
        return self.small_crf if height * width < SMALL else self.crf

    def options(self, height: int, width: int) -> dict[str, str]:
        """Options of the codec for pictures of this size."""
        crf = str(self.quality(height, width))
        return {"crf": crf, "preset": self.preset, "g": str(self.g), "threads": str(self.threads)}

    def feature_info(self, height: int, width: int, rate_hz: int) -> dict[str, Any]:
        """What LeRobot keeps beside a video feature in ``meta/info.json``."""
        return {
            "video.height": height,
            "video.width": width,
            "video.codec": self.vcodec,
            "video.pix_fmt": self.pix_fmt,
            "video.fps": rate_hz,
            "video.channels": 3,
            "has_audio": False,
            "video.g": self.g,
            "video.crf": self.quality(height, width),
            "video.preset": self.preset,
            "video.fast_decode": 0,
            "video.video_backend": "pyav",
            "video.extra_options": {},
            "is_depth_map": False,
        }


class VideoEncoder:
    """One file, one thread. ``put`` each frame, then ``finish`` or ``cancel``."""

    def __init__(self, path: Path, size: tuple[int, int], rate_hz: int, encoding: Encoding, waiting: int = 32) -> None:
        self.path, self.size, self.rate_hz, self.encoding = path, size, rate_hz, encoding
        self.stats = PictureStats()
        self._queue: queue.Queue[ImageArray | None] = queue.Queue(maxsize=waiting)
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"encode {path.parent.name}", daemon=True)

    def start(self) -> None:
        """Begin; the file appears with the first frame."""
        self._thread.start()

    def put(self, frame: ImageArray) -> None:
        """Hand over (H, W, 3) RGB, which the caller must not change any more. Waits while the queue is full."""
        self._hand_over(frame)

    def finish(self, rows: int) -> Stats:
        """Wait until the file is on disk and proven readable; statistics of its pictures.

        Raises ``DataError`` when encoding failed or the file does not hold one frame for each of ``rows`` rows.
        """
        self._hand_over(None)
        self._thread.join()
        self._check()
        if self.stats.frames != rows:
            raise DataError(f"{self.path.parent.name}: the video holds {self.stats.frames} frames for {rows} rows")
        return self.stats.result()

    def cancel(self) -> None:
        """Stop at once; what was written is worthless. May be called at any time, also twice."""
        self._stop.set()
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(None)
        if self._thread.is_alive():
            self._thread.join()

    def _hand_over(self, item: ImageArray | None) -> None:
        while True:
            running = self._thread.is_alive()  # asked first: a thread notes its error before it ends
            self._check()
            if not running:
                raise DataError(f"the encoder of {self.path.parent.name} is not running")
            try:
                return self._queue.put(item, timeout=0.2)
            except queue.Full:
                continue

    def _check(self) -> None:
        if self._error is not None:
            raise DataError(f"pictures of {self.path.parent.name} could not be saved: {self._error}") from self._error

    def _run(self) -> None:
        try:
            self._encode()
            if not self._stop.is_set():
                sync(self.path)
                check_frames(self.path, self.stats.frames, self.rate_hz)
        except BaseException as error:  # noqa: BLE001  (handed to the thread that called finish or put)
            self._error = error

    def _encode(self) -> None:
        height, width = self.size
        tick = Fraction(1, self.rate_hz)
        with av.open(str(self.path), "w") as container:
            stream = container.add_stream(
                self.encoding.vcodec, self.rate_hz, options=self.encoding.options(height, width)
            )
            stream.pix_fmt = self.encoding.pix_fmt
            stream.width, stream.height = width, height
            stream.time_base = tick
            while (frame := self._queue.get()) is not None and not self._stop.is_set():
                picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
                picture.pts, picture.time_base = self.stats.frames, tick
                container.mux(stream.encode(picture))
                self.stats.add(frame)
            container.mux(stream.encode(None))
