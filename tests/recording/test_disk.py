"""Room on the disk: asked for before an episode, watched while it runs, named when a write fails."""

import errno
import shutil

import pytest
from toys import ToyEnv, ToyOperator, ToyPolicy, ToySpec

from svm_robot.data import load_dataset
from svm_robot.data.labels import LabelLog
from svm_robot.errors import DataError, DiskError
from svm_robot.recording import disk
from svm_robot.recording.disk import MB, DiskGuard, Reserve, failure
from svm_robot.recording.encoder import Encoding
from svm_robot.recording.recorder import Recorder
from svm_robot.recording.session import record
from svm_robot.rollout import Outcome


class Free:
    """Stands for the file system: what ``disk_usage`` says is free."""

    def __init__(self, free):
        self.free = free

    def __call__(self, path):
        return shutil._ntuple_diskusage(10**12, 10**12 - self.free, self.free)


@pytest.fixture
def free(monkeypatch):
    stands_for = Free(10**12)
    monkeypatch.setattr(disk.shutil, "disk_usage", stands_for)
    return stands_for


def guard(tmp_path, **reserve):
    now = iter(range(1000))
    return DiskGuard(tmp_path, {"front": (100, 100)}, 10.0, lambda h, w: 2.0, Reserve(**reserve), now.__next__)


def test_an_episode_needs_the_reserve_and_room_for_itself(tmp_path, free):
    used = guard(tmp_path, keep_mb=100, ahead_s=30)
    assert used.bytes_per_s == 10 * 100 * 100 * 2
    free.free = 100 * MB + 30 * 200_000
    used.begin()
    free.free -= 1
    with pytest.raises(
        DiskError, match=r"106 MB left.* 106 MB are asked for \(100 MB .* 30 s of recording at 0\.2 MB/s"
    ):
        used.begin()


def test_what_an_episode_really_took_is_the_next_guess(tmp_path, free):
    used = guard(tmp_path, keep_mb=0, ahead_s=10)
    used.learn(written=50_000_000, rows=100)
    assert used.bytes_per_s == 5_000_000
    free.free = 49 * MB
    with pytest.raises(DiskError, match=r"5\.0 MB/s"):
        used.begin()
    used.learn(written=0, rows=0)
    assert used.bytes_per_s == 5_000_000


def test_the_disk_is_looked_at_only_so_often(tmp_path, free):
    used = guard(tmp_path, keep_mb=10, ahead_s=0, every_s=3)
    used.begin()
    free.free = 9 * MB
    used.watch()
    used.watch()
    with pytest.raises(DiskError, match=r"nearly full.*9 MB left, 10 MB stay free"):
        used.watch()


def toy_recorder(root, encoding=None):
    return Recorder(root, ToySpec(), "reach", 2, encoding, by="judge", reserve=Reserve(50, 0.0, 0.0))


class Fills(ToyEnv):
    """The disk fills while an episode runs."""

    def __init__(self, free, at_s):
        self.free, self.at_s = free, at_s
        super().__init__()

    def observe(self, frames=True):
        if self.time_s > self.at_s:
            self.free.free = 10 * MB
        return super().observe(frames)


@pytest.mark.parametrize("pictures", ["video", "png", "jpeg"])
def test_a_disk_that_fills_ends_the_episode_which_is_saved_as_aborted(tmp_path, free, pictures):
    env, recorder = Fills(free, 0.25), toy_recorder(tmp_path / "d", Encoding(pictures=pictures))
    recorder.open()
    arguments = {"episodes": 2, "seed": 0, "max_steps": 50}
    with pytest.raises(DiskError, match=r"nearly full.*10 MB left"):
        record(env, ToyPolicy(wrong=True), ToyOperator(env), recorder, **arguments)
    assert (recorder.summary.episode, recorder.summary.outcome) == (0, Outcome.ABORTED)
    before = recorder.summary
    with pytest.raises(DiskError, match="no room for an episode"):
        record(env, ToyPolicy(wrong=True), ToyOperator(env), recorder, **arguments)
    assert recorder.summary == before, "not begun"
    free.free = 10**12
    record(ToyEnv(), ToyPolicy(), ToyOperator(env), recorder, episodes=1, seed=0, max_steps=5)
    recorder.close()
    aborted, later = load_dataset(tmp_path / "d").episodes
    assert (aborted.outcome, later.index) == (Outcome.ABORTED, 1)
    assert 2 < len(aborted) < 50
    assert "nearly full" in LabelLog(tmp_path / "d").entries()[0].reason
    assert not list((tmp_path / "d").glob(".recording/*"))


def test_a_disk_without_room_is_said_before_the_person_is_asked_for_anything(tmp_path, free):
    class Asked(ToyOperator):
        def begin(self, episode):
            raise AssertionError("nothing may begin")

    free.free = MB
    env, recorder = ToyEnv(), toy_recorder(tmp_path / "d")
    with pytest.raises(DiskError, match="no room for an episode"):
        recorder.check_room()
    assert not (tmp_path / "d").exists()
    recorder.open()
    with pytest.raises(DiskError, match="no room for an episode"):
        record(env, ToyPolicy(), Asked(env), recorder, episodes=1, seed=0, max_steps=5)
    recorder.close()


def test_a_label_that_cannot_be_written_is_told_and_written_at_the_next_start(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    env, recorder = ToyEnv(), Recorder(tmp_path / "d", ToySpec(), "reach", 2, by="judge")
    recorder.open()
    with monkeypatch.context() as patch:
        patch.setattr(recorder.labels, "append", full)
        with pytest.raises(DiskError, match=r"episode 0 is saved, but its label .*\(ENOSPC\)"):
            record(env, ToyPolicy(), ToyOperator(env), recorder, episodes=1, seed=0, max_steps=20)
    recorder.close()
    assert LabelLog(tmp_path / "d").entries() == []
    again = Recorder(tmp_path / "d", ToySpec(), "reach", 2)
    again.open()
    again.close()
    assert load_dataset(tmp_path / "d").episodes[0].outcome is Outcome.SUCCESS
    again.open()
    again.close()
    assert len(LabelLog(tmp_path / "d").entries()) == 1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO])
def test_causes_are_named_and_the_exit_code_is_that_of_a_mendable_disk(number):
    error = failure("x could not be saved", OSError(number, "text"))
    assert isinstance(error, DiskError)
    assert isinstance(error, OSError)
    assert error.exit_code == 1
    assert f"({errno.errorcode[number]}" in str(error)


def test_other_causes_are_passed_on():
    error = failure("x", OSError(errno.EACCES, "Permission denied"))
    assert isinstance(error, DataError)
    assert not isinstance(error, DiskError)
    assert "Permission denied" in str(error)
    assert type(failure("x", ValueError("y"))) is DataError
