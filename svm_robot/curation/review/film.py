"""The pictures of one episode, one at a time and at any size: nothing but the one in hand is kept in memory."""

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from av.video.reformatter import VideoReformatter
from PIL import Image

from svm_robot.data.layout import Layout, Row
from svm_robot.data.pictures import camera_keys, first_frame
from svm_robot.data.video import share_out
from svm_robot.errors import DataError
from svm_robot.rollout.env import ImageArray

AHEAD_S = 1.0
"""Further ahead than this it is quicker to look for a key frame than to decode all that lies between."""


class Film(Protocol):
    """One camera of one episode."""

    def picture(self, index: int, height: int, width: int) -> ImageArray:
        """(height, width, 3) RGB of frame ``index``. Raises ``DataError`` when it is not there."""

    def close(self) -> None:
        """Let go of the file; may be called twice."""


def open_films(layout: Layout, row: Row) -> Mapping[str, Film]:
    """Camera role -> film of one episode. Nothing is read before a picture is asked for."""
    features, rate_hz = layout.info["features"], float(layout.info["fps"])
    films: dict[str, Film] = {}
    for role, key in camera_keys(features).items():
        if features[key]["dtype"] == "video":
            films[role] = VideoFilm(layout.video_file(row, key), first_frame(row, key, rate_hz), rate_hz)
        else:
            films[role] = StillFilm(layout.data_file(row), key, int(row["episode_index"]))
    return films


class VideoFilm:
    """A film inside a video file; going forward is cheap, every other way starts at a key frame."""

    def __init__(self, file: Path, first_frame: int, rate_hz: float) -> None:
        """``first_frame``: number of the episode's first one in the file, counted at ``rate_hz`` from time 0."""
        self.file, self.first_frame, self.rate_hz = file, first_frame, rate_hz
        self._convert = VideoReformatter()
        self._container: Any = None
        self._frames: Iterator[tuple[int, Any]] = iter(())
        self._held: tuple[int, Any] | None = None

    def picture(self, index: int, height: int, width: int) -> ImageArray:
        """(height, width, 3) RGB of frame ``index``. Raises ``DataError`` when it is not there."""
        wanted = self.first_frame + index
        try:
            frame = self._frame(wanted)
            scaled = self._convert.reformat(frame, width=width, height=height, format="rgb24", interpolation="AREA")
        except FileNotFoundError as error:
            raise DataError(f"{self.file} is missing although the dataset counts episodes in it") from error
        except (av.error.FFmpegError, IndexError) as error:
            raise DataError(f"{self.file} cannot be decoded ({error})") from error
        return np.asarray(scaled.to_ndarray(), np.uint8)

    def close(self) -> None:
        """Let go of the file; may be called twice."""
        if self._container is not None:
            self._container.close()
        self._container, self._held, self._frames = None, None, iter(())

    def _frame(self, wanted: int) -> Any:
        if self._held is None or not self._held[0] <= wanted <= self._held[0] + AHEAD_S * self.rate_hz:
            self._seek(wanted)
        while self._held is None or self._held[0] < wanted:
            self._held = next(self._frames, None)
            if self._held is None:
                break
        if self._held is None or self._held[0] != wanted:
            self._held = None
            raise DataError(f"{self.file} has no frame {wanted - self.first_frame} of this episode")
        return self._held[1]

    def _seek(self, wanted: int) -> None:
        if self._container is None:
            self._container = av.open(str(self.file))
            share_out(self._container.streams.video[0])
        stream = self._container.streams.video[0]
        self._container.seek(round(wanted / self.rate_hz / stream.time_base), stream=stream, backward=True)
        self._frames, self._held = self._decode(stream), None

    def _decode(self, stream: Any) -> Iterator[tuple[int, Any]]:
        for frame in self._container.decode(stream):
            if frame.pts is not None and frame.time_base is not None:
                yield round(float(frame.pts * frame.time_base) * self.rate_hz), frame


class StillFilm:
    """A film of single pictures inside the rows; they are kept as they are stored, and unpacked one at a time."""

    def __init__(self, file: Path, key: str, episode: int) -> None:
        self.file, self.key, self.episode = file, key, episode
        self._stored: dict[int, bytes] | None = None

    def picture(self, index: int, height: int, width: int) -> ImageArray:
        """(height, width, 3) RGB of frame ``index``. Raises ``DataError`` when it is not there."""
        if self._stored is None:
            self._stored = self._read()
        if index not in self._stored:
            raise DataError(f"{self.file} has no frame {index} of this episode")
        try:
            image = Image.open(io.BytesIO(self._stored[index])).convert("RGB")
        except OSError as error:
            raise DataError(f"{self.file}: frame {index} is no picture ({error})") from error
        return np.asarray(image.resize((width, height), Image.Resampling.BOX), np.uint8)

    def close(self) -> None:
        """Let go of the pictures; may be called twice."""
        self._stored = None

    def _read(self) -> dict[int, bytes]:
        names = [self.key, "frame_index"]
        try:
            table = pq.read_table(self.file, columns=names, filters=[("episode_index", "=", self.episode)])
        except (pa.ArrowInvalid, OSError) as error:
            raise DataError(f"{self.file} cannot be read ({' '.join(str(error).split())})") from error
        frames, stored = table["frame_index"].to_pylist(), table[self.key].to_pylist()
        return {frame: picture["bytes"] for frame, picture in zip(frames, stored, strict=True)}
