"""Two programs that want the same dataset at the same moment."""

import fcntl
from pathlib import Path

import pytest
from recordings import record_toy
from toys import ToySpec

from svm_robot.data import load_dataset
from svm_robot.errors import DataError
from svm_robot.recording import writer
from svm_robot.recording.recovery import LOCK
from svm_robot.recording.writer import EpisodeWriter


def before_the_lock(monkeypatch: pytest.MonkeyPatch, happens) -> None:
    """Let something happen once, when a writer is about to take its lock."""
    take, waiting = EpisodeWriter._take_lock, [happens]

    def late(self: EpisodeWriter) -> None:
        if waiting:
            waiting.pop()()
        take(self)

    monkeypatch.setattr(EpisodeWriter, "_take_lock", late)


def test_a_dataset_that_appears_just_before_the_lock_is_continued_not_emptied(tmp_path, monkeypatch):
    before_the_lock(monkeypatch, lambda: record_toy(tmp_path / "d", "s", max_steps=4))
    with EpisodeWriter(tmp_path / "d", ToySpec(), latent_dim=2) as opened:
        assert opened.episodes == 1 and not opened.set_aside
    assert len(load_dataset(tmp_path / "d").episodes) == 1


def test_one_of_another_shape_that_appears_just_before_the_lock_is_refused(tmp_path, monkeypatch):
    before_the_lock(monkeypatch, lambda: record_toy(tmp_path / "d", "s", max_steps=4))
    with pytest.raises(DataError, match="another shape"), EpisodeWriter(tmp_path / "d", ToySpec()):
        pass
    record_toy(tmp_path / "d", "f", max_steps=4)  # the lock was let go
    assert len(load_dataset(tmp_path / "d").episodes) == 2


def test_the_lock_of_a_dataset_that_was_replaced_locks_nothing(tmp_path: Path, monkeypatch):
    root = tmp_path / "d"
    record_toy(root, "s", max_steps=4)
    flock = fcntl.flock

    def replaced_first(handle: int, mode: int) -> None:
        (root / LOCK).rename(tmp_path / "old")
        (root / LOCK).touch()
        flock(handle, mode)

    monkeypatch.setattr(writer.fcntl, "flock", replaced_first)
    with pytest.raises(DataError, match="or replacing it"), EpisodeWriter(root, ToySpec(), latent_dim=2):
        pass
