"""Looks into a video file of others: how many frames it holds, when they are shown, and how it is encoded."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from svm_robot.data.video import share_out
from svm_robot.errors import DataError
from svm_robot.rollout.env import ImageArray


class UnreadableError(DataError):
    """A file that is no video, or a damaged one."""


SLACK = 0.2
"""How far a frame may be shown from its tick for the file to be taken as it is [ticks]."""


@dataclass(frozen=True)
class Probe:
    """What a video file holds."""

    times_s: NDArray[np.float64]
    """When each frame is shown, in order [s]."""
    height: int
    width: int
    codec: str
    pix_fmt: str

    @property
    def frames(self) -> int:
        """How many frames it holds."""
        return len(self.times_s)

    def first_tick(self, rate_hz: float) -> int | None:
        """Number of the first frame, counted from time 0, where frames follow each other at this rate; else None."""
        ticks = self.times_s * rate_hz
        first = round(float(ticks[0]))
        return first if bool(np.all(np.abs(ticks - first - np.arange(len(ticks))) < SLACK)) else None

    def feature_info(self, rate_hz: int) -> dict[str, Any]:
        """What LeRobot keeps beside a video feature."""
        return {
            "video.height": self.height,
            "video.width": self.width,
            "video.codec": self.codec,
            "video.pix_fmt": self.pix_fmt,
            "video.fps": rate_hz,
            "video.channels": 3,
            "has_audio": False,
            "is_depth_map": False,
        }


def probe(path: Path) -> Probe:
    """Look into a file without decoding its pictures. Raises ``DataError`` when it is no video."""
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            base = float(stream.time_base)
            times = [packet.pts * base for packet in container.demux(stream) if packet.size and packet.pts is not None]
            if not times:
                raise UnreadableError(f"{path} holds no frames")
            context = stream.codec_context
            name = {"libdav1d": "av1", "libaom-av1": "av1"}.get(context.name, context.name)
            return Probe(np.sort(np.array(times)), context.height, context.width, name, str(context.pix_fmt))
    except (av.error.FFmpegError, IndexError) as error:
        raise UnreadableError(f"{path} cannot be opened as a video ({error})") from error


def in_order(path: Path) -> Iterator[ImageArray]:
    """(H, W, 3) RGB of every frame, whatever its time says."""
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            share_out(stream)
            for frame in container.decode(stream):
                yield np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)
    except (av.error.FFmpegError, IndexError) as error:
        raise DataError(f"{path} cannot be decoded ({error})") from error
