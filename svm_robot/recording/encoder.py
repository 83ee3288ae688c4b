"""How pictures are kept, and the thread that makes a video of one camera's frames while the episode runs."""

import logging
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import av
import numpy as np

from svm_robot.data.files import file_digest, sync
from svm_robot.data.video import SMALL, check_frames
from svm_robot.recording.proof import PROVABLE, LiveProof
from svm_robot.recording.worker import FrameWorker

logging.getLogger("libav").setLevel(logging.ERROR)

LOSSLESS_AT_ZERO = ("h264", "libx264", "libx264rgb")
"""Codecs whose ``crf`` 0 keeps every sample."""

SYNC_BYTES = 4_000_000
"""What was encoded is put on disk in pieces of about this size, so that little is left to do at the end."""

Pictures = Literal["video", "png", "jpeg"]


@dataclass(frozen=True)
class Encoding:
    """How pictures are kept."""

    pictures: Pictures = "video"  # one video per camera and episode, or single pictures in the data files
    jpeg_quality: int = 95  # of single JPEG pictures, 1 to 100
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

    def lossless(self, height: int, width: int) -> bool:
        """True when a decoded video frame has every sample of the one that went in (in the codec's own colours)."""
        return self.vcodec in LOSSLESS_AT_ZERO and self.quality(height, width) == 0

    def bytes_per_pixel(self, height: int, width: int) -> float:
        """About what a noisy picture of this size takes on disk; measured, on the careful side."""
        if self.pictures == "video":
            return 1.5 if self.lossless(height, width) else 0.25
        return 2.5 if self.pictures == "png" else 0.6

    def feature(self, height: int, width: int, rate_hz: int) -> dict[str, Any]:
        """The camera's entry in the feature table of ``meta/info.json``."""
        dtype = "video" if self.pictures == "video" else "image"
        entry = {"dtype": dtype, "shape": [height, width, 3], "names": ["height", "width", "channels"]}
        return entry | {"info": self.feature_info(height, width, rate_hz)}

    def feature_info(self, height: int, width: int, rate_hz: int) -> dict[str, Any]:
        """What is kept beside the feature: for a video LeRobot's own entries."""
        if self.pictures == "png":
            return {"image.format": "png"}
        if self.pictures == "jpeg":
            return {"image.format": "jpeg", "image.quality": self.jpeg_quality}
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


class VideoEncoder(FrameWorker):
    """One camera's frames as one file, proven while it grows."""

    def __init__(self, path: Path, size: tuple[int, int], rate_hz: int, encoding: Encoding, waiting: int = 32) -> None:
        super().__init__(path, waiting)
        self.size, self.rate_hz, self.encoding = size, rate_hz, encoding
        self._proof: LiveProof | None = None
        self.digest: str | None = None
        """SHA-256 of the proven file, 64 hexadecimal digits; after ``finish``."""
        self._unsynced = 0

    def _keep(self) -> None:
        height, width = self.size
        tick = Fraction(1, self.rate_hz)
        with av.open(str(self.path), "w") as container:
            stream = container.add_stream(
                self.encoding.vcodec, self.rate_hz, options=self.encoding.options(height, width)
            )
            stream.pix_fmt = self.encoding.pix_fmt
            stream.width, stream.height = width, height
            stream.time_base = tick
            if stream.codec_context.codec.canonical_name in PROVABLE:
                self._proof = LiveProof(self.encoding.lossless(height, width), self.rate_hz)
            for frame in self._frames():
                picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
                picture = picture.reformat(format=self.encoding.pix_fmt)
                picture.pts, picture.time_base = self.stats.frames, tick
                if self._proof is not None:
                    self._proof.expect(picture)
                self._write(container, stream, stream.encode(picture))
            self._write(container, stream, stream.encode(None))

    def _write(self, container: av.container.OutputContainer, stream: av.VideoStream, packets: list[av.Packet]) -> None:
        for packet in packets:
            if self._proof is not None:
                self._proof.feed(packet, stream)
            self._unsynced += packet.size
            container.mux(packet)
        if self._unsynced > SYNC_BYTES:
            sync(self.path)
            self._unsynced = 0

    def _prove(self) -> None:
        sync(self.path)
        if self._proof is None:
            check_frames(self.path, self.stats.frames, self.rate_hz)
        else:
            self._proof.end()
            self._proof.check(self.path)
        self.digest = file_digest(self.path)
