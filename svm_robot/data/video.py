"""Reads video files from front to back: one pass for all episodes in a file, no seeking."""

from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
from av.video.reformatter import VideoReformatter

from svm_robot.errors import DataError
from svm_robot.rollout.env import ImageArray

SMALL = 320 * 240
"""Pictures below this many pixels decode faster on one thread than with the cost of sharing them out."""


def read_frames(path: Path, rate_hz: float) -> Iterator[tuple[int, ImageArray]]:
    """(frame number in the file, (H, W, 3) RGB) of every frame in order.

    The number comes from the frame's own time, so a gap in the file shows as a gap in the numbers.
    """
    convert = VideoReformatter()
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            share_out(stream)
            for frame in container.decode(stream):
                if frame.pts is None or frame.time_base is None:
                    raise DataError(f"{path}: a frame without a time")
                number = round(float(frame.pts * frame.time_base) * rate_hz)
                yield number, np.asarray(convert.reformat(frame, format="rgb24").to_ndarray(), np.uint8)
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing although the dataset counts episodes in it") from error
    except (av.error.FFmpegError, IndexError) as error:
        raise DataError(
            f"{path} cannot be decoded ({error}); the recording was cut off or the file is damaged"
        ) from error


def check_frames(path: Path, frames: int, rate_hz: float) -> None:
    """Raise ``DataError`` unless the file holds exactly ``frames`` frames, each at its own time, that all decode.

    Takes about 3 ms per picture of 640x480; a recording is checked in another way while it runs (``proof``).
    """
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            held = sum(1 for packet in container.demux(stream) if packet.size)
            if held != frames:
                raise DataError(f"{path} holds {held} of {frames} frames")
            share_out(stream)
            container.seek(0, stream=stream, backward=True)
            decoded = [round(float(frame.pts * frame.time_base) * rate_hz) for frame in container.decode(stream)]
    except (av.error.FFmpegError, IndexError) as error:
        raise DataError(f"{path} cannot be decoded ({error})") from error
    if decoded != list(range(frames)):
        raise DataError(f"{path}: of {frames} frames only {len(decoded)} decode, each at its own time")


def share_out(stream: av.video.stream.VideoStream) -> None:
    """Decode large pictures on several threads, small ones on one."""
    if stream.width * stream.height < SMALL:
        stream.codec_context.thread_count = 1
    else:
        stream.thread_type = "AUTO"
