"""Writes a LeRobot v3 dataset so that a kill costs at most the episode in progress.

LeRobot's own writer keeps its Parquet files open over a session: a killed recording loses every episode of it, and
closing and reopening after each one costs half a second. This writer makes one file of each kind for each episode.
Everything is written aside, verified and on disk before it gets its name, and ``meta/info.json``, which counts the
episodes, is replaced last. What a killed writer left beyond that count is set aside by the next ``open``.
"""

import fcntl
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from svm_robot.data import columns
from svm_robot.data.files import make_folder, publish_json
from svm_robot.data.layout import INFO, Row
from svm_robot.data.schema import check_same, new_info
from svm_robot.data.tables import read_tasks
from svm_robot.errors import DataError
from svm_robot.recording.commit import Commit, Extras
from svm_robot.recording.disk import DiskGuard, Reserve, failure
from svm_robot.recording.encoder import Encoding, VideoEncoder
from svm_robot.recording.recovery import LOCK, STAGING, is_fresh, load_stats, set_aside
from svm_robot.recording.stills import StillsEncoder, check_pictures
from svm_robot.recording.torn import read_counted
from svm_robot.recording.worker import FrameWorker, Waits
from svm_robot.rollout.env import EnvSpec, ImageArray


class EpisodeWriter:
    """Appends whole episodes. ``open``, then for each episode ``begin``, ``add``..., ``save`` or ``discard``."""

    def __init__(
        self,
        root: Path,
        spec: EnvSpec,
        latent_dim: int | None = None,
        encoding: Encoding | None = None,
        reserve: Reserve | None = None,
    ) -> None:
        self.root, self.spec, self.latent_dim = root, spec, latent_dim
        self.encoding = encoding or Encoding()
        self.guard = DiskGuard(root, spec.cameras, spec.rate_hz, self.encoding.bytes_per_pixel, reserve)
        self.waits = Waits()
        """How often ``add`` had to wait for an encoder in the last episode."""
        self.set_aside: list[Path] = []
        """Where ``open`` put files of an unfinished episode."""
        self._commit: Commit | None = None
        self._lock: int | None = None
        self._encoders: dict[str, FrameWorker] = {}
        self._rows: list[Mapping[str, Any]] = []

    @property
    def info(self) -> dict[str, Any]:
        """Content of ``meta/info.json``; ``open`` first."""
        return self._opened().info

    @property
    def episodes(self) -> int:
        """Episodes saved so far, those of earlier sessions included."""
        return self._opened().episodes

    @property
    def last(self) -> Row | None:
        """Metadata of the last episode saved, None when there is none."""
        return self._opened().last

    def open(self) -> None:
        """Create the dataset, or continue one of the same shape. Raises ``DataError`` when neither is possible."""
        info = self._new_info()
        self._check_same()
        make_folder(self.root)
        self._take_lock()
        try:
            if is_fresh(self.root):
                publish_json(info, self.root / INFO, indent=4)
            self._check_same()  # again: before the lock was taken, another program may have been here
            self._resume()
        except BaseException:
            self._release()  # what an unfinished episode left stays: nothing is touched in a dataset that is refused
            raise

    def begin(self) -> None:
        """Start an episode. Raises ``DiskError`` when there is no room for one."""
        self.discard()
        self.waits = Waits()
        self.guard.begin()
        for role, size in self.spec.cameras.items():
            (self.root / STAGING / role).mkdir(parents=True)
            self._encoders[role] = self._encoder(role, size)
        for encoder in self._encoders.values():
            encoder.start()

    def add(self, row: Mapping[str, Any], frames: Mapping[str, ImageArray]) -> None:
        """Append one row (all columns but the bookkeeping ones) and its frames, which must not change any more.

        Waits while an encoder is behind.
        """
        for role, encoder in self._encoders.items():
            encoder.put(frames[role])
        self._rows.append(row)

    def save(self, task: str, extras: Extras) -> int:
        """Commit the episode; it is complete, verified and on disk when this returns its index.

        ``extras`` go into the episode's metadata. Raises ``DataError`` when it could not be saved whole; then
        nothing of it counts, and the episodes before it are untouched.
        """
        if not self._rows:
            raise DataError("an episode without a single step cannot be saved")
        try:
            encoders = {columns.IMAGES + role: encoder for role, encoder in self._encoders.items()}
            stats = {key: encoder.finish(len(self._rows)) for key, encoder in encoders.items()}
            films = {key: encoder for key, encoder in encoders.items() if isinstance(encoder, VideoEncoder)}
            videos = {key: encoder.path for key, encoder in films.items()}
            digests = {key: encoder.digest for key, encoder in films.items() if encoder.digest}
            size = sum(encoder.path.stat().st_size for encoder in encoders.values())
            index = self._opened().save(self._table(), videos, task, extras, stats, digests)
            self.guard.learn(size, len(self._rows))
            return index
        except DataError:
            raise
        except OSError as error:
            raise failure(f"episode {self.episodes} could not be saved in {self.root}", error) from error
        finally:
            self.discard()

    def discard(self) -> None:
        """Drop the episode in progress, if there is one."""
        for encoder in self._encoders.values():
            encoder.cancel()
            self.waits += encoder.waits
        self._encoders, self._rows = {}, []
        if self._lock is not None:
            shutil.rmtree(self.root / STAGING, ignore_errors=True)

    def close(self) -> None:
        """Drop an episode in progress and let others write. May be called twice."""
        if self._lock is not None:
            self.discard()
            self._release()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _new_info(self) -> dict[str, Any]:
        info = new_info(self.spec, self.latent_dim)
        for role, (height, width) in self.spec.cameras.items():
            info["features"][columns.IMAGES + role] = self.encoding.feature(height, width, info["fps"])
        if self.encoding.pictures != "video":
            info["video_path"] = None
        return info

    def _check_same(self) -> None:
        """Raise ``DataError`` for a dataset of another shape."""
        if not is_fresh(self.root):
            check_same(self.root, self.spec, self.latent_dim)
            check_pictures(self.root, self.encoding)

    def _take_lock(self) -> None:
        handle = os.open(self.root / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(handle), (self.root / LOCK).stat()):
                raise FileNotFoundError  # of a dataset that was replaced meanwhile: it locks nothing any more
        except (BlockingIOError, FileNotFoundError) as error:
            os.close(handle)
            raise DataError(
                f"another program is recording into {self.root}, or replacing it; "
                "wait for it, stop it, or choose another folder"
            ) from error
        self._lock = handle

    def _release(self) -> None:
        assert self._lock is not None
        os.close(self._lock)
        self._lock = None

    def _resume(self) -> None:
        layout = read_counted(self.root)
        shutil.rmtree(self.root / STAGING, ignore_errors=True)
        last = layout.episodes[-1] if layout.episodes else None
        about = sorted({layout.episodes_file(row) for row in layout.episodes})
        counted = {*about, *(layout.data_file(row) for row in layout.episodes)}
        counted |= {layout.video_file(row, key) for row in layout.episodes for key in layout.video_keys()}
        self.set_aside = set_aside(self.root, counted)
        stats = load_stats(self.root, about, layout.info)
        tasks = {sentence: number for number, sentence in read_tasks(self.root).items()} if layout.episodes else {}
        self._commit = Commit(self.root, layout.info, stats, tasks, last)

    def _opened(self) -> Commit:
        if self._commit is None:
            raise DataError(f"the dataset at {self.root} is not open for recording")
        return self._commit

    def _encoder(self, role: str, size: tuple[int, int]) -> FrameWorker:
        folder = self.root / STAGING / role
        if self.encoding.pictures == "video":
            return VideoEncoder(folder / "video.mp4", size, int(self.info["fps"]), self.encoding)
        return StillsEncoder(folder / "pictures.arrow", size, self.encoding)

    def _table(self) -> dict[str, NDArray[Any] | pa.ChunkedArray]:
        """Column name -> (T,) or (T, n) numbers as the feature table wants them, or T single pictures."""
        features = self.info["features"]
        names = [key for key in features if key in self._rows[0]]
        numbers = {key: np.stack([row[key] for row in self._rows]).astype(features[key]["dtype"]) for key in names}
        stills = {role: encoder for role, encoder in self._encoders.items() if isinstance(encoder, StillsEncoder)}
        return numbers | {columns.IMAGES + role: encoder.column() for role, encoder in stills.items()}
