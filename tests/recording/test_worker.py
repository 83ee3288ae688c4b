"""Back-pressure: the loop waits and is told so; nothing is dropped, and an end drains what is still to be written."""

import itertools
import threading

import pytest
from recordings import numbered

from svm_robot.errors import DataError, DiskError
from svm_robot.recording.worker import FrameWorker, Waits


class Gated(FrameWorker):
    """Keeps numbers, each only when the gate lets it pass."""

    def __init__(self, path, waiting, error=None):
        super().__init__(path, waiting, clock=itertools.count().__next__)
        self.taken = threading.Event()
        self.gate, self.kept, self.proven, self.error = threading.Semaphore(0), [], False, error

    def _keep(self):
        for frame in self._frames():
            self.taken.set()
            self.gate.acquire()
            if self.error is not None and len(self.kept) == 2:
                raise self.error
            self.kept.append(int(frame[0, 0, 0]))

    def _prove(self):
        self.proven = True


@pytest.fixture
def gated(tmp_path):
    made = []

    def make(waiting=2, error=None):
        made.append(Gated(tmp_path / "front" / "file", waiting, error))
        made[-1].start()
        return made[-1]

    yield make
    for each in made:
        each.gate.release(1000)
        each.cancel()


def fill(used, count):
    """The thread holds the first frame, the others wait."""
    for number in range(count):
        used.put(numbered(number))
        assert used.taken.wait(10)


def later(action):
    timer = threading.Timer(0.05, action)
    timer.start()
    return timer


def test_waits_are_counted_and_nothing_is_dropped(gated):
    used = gated(waiting=2)
    fill(used, 3)
    assert used.waits == Waits()
    for number in range(3, 6):
        timer = later(used.gate.release)
        used.put(numbered(number))
        timer.join()
    assert (used.waits.times, used.waits.longest_s) == (3, 1)
    used.gate.release(1000)
    used.finish(6)
    assert used.kept == list(range(6))


def test_an_end_during_a_slow_write_drains_what_is_waiting(gated):
    used = gated(waiting=8)
    for number in range(8):
        used.put(numbered(number))
    timer = later(lambda: used.gate.release(1000))
    used.finish(8)
    timer.join()
    assert (used.kept, used.proven) == (list(range(8)), True)


def test_frames_that_went_missing_are_noticed_at_the_end(gated):
    used = gated()
    used.gate.release(1000)
    used.put(numbered(0))
    with pytest.raises(DataError, match="holds 1 frames for 3 rows"):
        used.finish(3)


@pytest.mark.parametrize(("number", "told"), [(28, "ENOSPC"), (122, "EDQUOT"), (27, "EFBIG"), (30, "EROFS")])
def test_a_disk_that_cannot_be_written_is_named_in_mid_episode(gated, number, told):
    used = gated(waiting=2, error=OSError(number, "x"))
    used.gate.release(1000)
    with pytest.raises(DiskError, match=rf"pictures of front could not be saved: .*\({told}"):
        for index in range(100):
            used.put(numbered(index))


def test_waits_add_up():
    assert Waits(1, 0.5, 0.5) + Waits(2, 0.75, 0.25) == Waits(3, 1.25, 0.5)


def test_a_cancelled_thread_stops_though_its_queue_is_full(gated):
    used = gated(waiting=2)
    fill(used, 3)
    timer = later(lambda: used.gate.release(1000))
    used.cancel()
    timer.join()
    assert (len(used.kept) < 3, used.proven) == (True, False)
