"""Single pictures (PNG or JPEG) instead of a video: encoded, proven and put aside while the episode runs.

They end up inside the data file, as LeRobot's own image columns have it. Until then they lie in an Arrow file, so that
neither a long episode nor its end needs them all in memory.
"""

import io
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from svm_robot.data import columns
from svm_robot.data.layout import read_info
from svm_robot.errors import DataError
from svm_robot.recording.encoder import Encoding
from svm_robot.recording.worker import FrameWorker
from svm_robot.rollout.env import ImageArray

PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
"""Type of an image column, as the ``datasets`` library stores it."""

BATCH_BYTES = 4_000_000
"""Pictures are put aside in batches of about this size."""


class StillsEncoder(FrameWorker):
    """One camera's frames as single pictures in an Arrow file."""

    def __init__(self, path: Path, size: tuple[int, int], encoding: Encoding, waiting: int = 32) -> None:
        super().__init__(path, waiting)
        self.encode = png(*size) if encoding.pictures == "png" else jpeg(encoding.jpeg_quality)
        self.exact = encoding.pictures == "png"

    def column(self) -> pa.ChunkedArray:
        """(T,) pictures as they lie on disk, mapped into memory; after ``finish``."""
        return pa.ipc.open_file(pa.memory_map(str(self.path))).read_all().column(0)

    def _keep(self) -> None:
        batch: list[dict[str, object]] = []
        waiting = 0
        with pa.OSFile(str(self.path), "wb") as sink, pa.ipc.new_file(sink, pa.schema([("pictures", PICTURE)])) as file:
            for frame in self._frames():
                content = self.encode(frame)
                check_picture(content, frame, self.exact, self.stats.frames)
                batch.append({"bytes": content, "path": f"frame-{self.stats.frames:06d}.{extension(self.exact)}"})
                waiting += len(content)
                if waiting > BATCH_BYTES:
                    file.write_batch(as_batch(batch))
                    batch, waiting = [], 0
            if batch:
                file.write_batch(as_batch(batch))

    def _prove(self) -> None:
        held = len(self.column())
        if held != self.stats.frames:
            raise DataError(f"{self.path} holds {held} of {self.stats.frames} pictures")


def as_batch(pictures: list[dict[str, object]]) -> pa.RecordBatch:
    """Pictures as a piece of the Arrow file."""
    return pa.record_batch([pa.array(pictures, PICTURE)], names=["pictures"])


def extension(is_png: bool) -> str:
    """End of a picture's file name."""
    return "png" if is_png else "jpg"


def check_picture(content: bytes, frame: ImageArray, exact: bool, number: int) -> None:
    """Raise ``DataError`` unless the encoded picture decodes to a picture of that size (``exact``: to those pixels)."""
    try:
        decoded = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"picture {number} does not decode after encoding ({error})") from error
    if decoded.shape != frame.shape or (exact and not np.array_equal(decoded, frame)):
        raise DataError(f"picture {number} decodes to another picture than the one that was encoded")


def png(height: int, width: int) -> Callable[[ImageArray], bytes]:
    """A lossless encoder. FFmpeg's is twice as fast as Pillow's at about the same size, and leaves Python running."""
    context = av.CodecContext.create("png", "w")
    context.width, context.height, context.pix_fmt = width, height, "rgb24"
    context.time_base, context.thread_count = Fraction(1, 1), 1
    context.options = {"compression_level": "1", "pred": "sub"}
    count = 0

    def encode(frame: ImageArray) -> bytes:
        nonlocal count
        picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
        picture.pts, count = count, count + 1
        return b"".join(bytes(packet) for packet in context.encode(picture))

    return encode


def jpeg(quality: int) -> Callable[[ImageArray], bytes]:
    """A lossy encoder that keeps the full resolution of colours."""

    def encode(frame: ImageArray) -> bytes:
        target = io.BytesIO()
        Image.fromarray(frame).save(target, "JPEG", quality=quality, subsampling=0)
        return target.getvalue()

    return encode


def check_written(path: Path, wanted: pa.Table) -> None:
    """Raise ``DataError`` unless the pictures in the data file at ``path`` are exactly those of ``wanted``."""
    names = [field.name for field in wanted.schema if pa.types.is_struct(field.type)]
    if not names:
        return
    begin, wanted = 0, wanted.select(names)
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=names)
            if not rows.equals(wanted.slice(begin, len(rows))):
                raise DataError(f"{path}: pictures from row {begin} on are not those that were recorded")
            begin += len(rows)
    if begin != len(wanted):
        raise DataError(f"{path} holds {begin} of {len(wanted)} rows")


def check_pictures(root: Path, encoding: Encoding) -> None:
    """Raise ``DataError`` when the dataset at ``root`` keeps its pictures in another way."""
    wanted = encoding.pictures
    for key, feature in read_info(root)["features"].items():
        if not key.startswith(columns.IMAGES):
            continue
        kept = kind(feature)
        if kept != wanted:
            raise DataError(
                f"{root} keeps its pictures as {kept}, --pictures={wanted} asks for another kind; "
                f"record with --pictures={kept}, or into another folder"
            )
        quality = (feature.get("info") or {}).get("image.quality", encoding.jpeg_quality)
        if kept == "jpeg" and quality != encoding.jpeg_quality:
            raise DataError(
                f"{root} keeps JPEG pictures of quality {quality}, --jpeg_quality={encoding.jpeg_quality} asks for "
                f"another; record with --jpeg_quality={quality}, or into another folder"
            )


def kind(feature: Mapping[str, Any]) -> str:
    """How a camera's pictures are kept: ``video``, ``png`` or ``jpeg``. LeRobot's own single pictures are PNG."""
    if feature["dtype"] == "video":
        return "video"
    return str((feature.get("info") or {}).get("image.format", "png"))
