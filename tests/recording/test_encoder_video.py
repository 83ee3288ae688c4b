"""Frames in, the same frames out, in order; a slow encoder makes the caller wait."""

import time

import numpy as np
import pytest
from recordings import LOSSLESS, number_in, numbered

from svm_robot.data.video import check_frames, read_frames
from svm_robot.errors import DataError
from svm_robot.recording import worker
from svm_robot.recording.encoder import Encoding, VideoEncoder


@pytest.fixture
def path(tmp_path):
    (tmp_path / "front").mkdir()
    return tmp_path / "front" / "video.mp4"


def encode(path, frames, encoding=None, rate_hz=10):
    used = VideoEncoder(path, frames[0].shape[:2], rate_hz, encoding or Encoding())
    used.start()
    for frame in frames:
        used.put(frame)
    return used.finish(len(frames))


def scene(height, width, seed=0):
    """A smooth gradient with a small saturated object and sensor noise."""
    rng = np.random.default_rng(seed)
    ramp = np.linspace(40, 200, width)[None, :, None] * np.linspace(0.5, 1, height)[:, None, None] * np.ones(3)
    ramp[height // 3 : height // 2, width // 3 : width // 2] = (210, 40, 30)
    return np.clip(ramp + rng.normal(0, 4, ramp.shape), 0, 255).astype(np.uint8)


def test_every_frame_comes_back_in_order(path):
    encode(path, [numbered(number) for number in range(120)])
    assert [number for number, _ in read_frames(path, 10)] == list(range(120))
    assert [number_in(frame) for _, frame in read_frames(path, 10)] == pytest.approx(list(range(120)), abs=1)


def test_small_pictures_lose_nothing_but_rounding(path):
    frames = [scene(64, 64, seed) for seed in range(6)]
    encode(path, frames)
    error = np.abs(np.stack([frame for _, frame in read_frames(path, 10)]).astype(int) - np.stack(frames))
    assert error.max() <= LOSSLESS
    assert error.mean() < 0.6


def test_large_pictures_stay_below_their_own_noise(path):
    frames = [scene(480, 640, seed) for seed in range(4)]
    encode(path, frames)
    error = np.abs(np.stack([frame for _, frame in read_frames(path, 10)]).astype(int) - np.stack(frames))
    assert error.mean() < 3.5


def test_odd_sizes_work(path):
    encode(path, [numbered(7, 33, 47)] * 3)
    assert [frame.shape for _, frame in read_frames(path, 10)] == [(33, 47, 3)] * 3


def test_a_slow_encoder_blocks_and_drops_nothing(path, monkeypatch):
    quick = worker.PictureStats.add
    monkeypatch.setattr(worker.PictureStats, "add", lambda self, frame: (time.sleep(0.004), quick(self, frame)))
    used = VideoEncoder(path, (32, 32), 10, Encoding(), waiting=4)
    used.start()
    begin = time.perf_counter()
    for number in range(60):
        used.put(numbered(number))
    waited = time.perf_counter() - begin
    used.finish(60)
    assert waited > 0.004 * (60 - 4 - 2)
    assert len(list(read_frames(path, 10))) == 60


def test_cancel_is_quick_and_may_come_twice(path):
    used = VideoEncoder(path, (32, 32), 10, Encoding(), waiting=4)
    used.start()
    used.put(numbered(1))
    used.cancel()
    used.cancel()
    with pytest.raises(DataError, match="not running"):
        used.put(numbered(2))


def test_an_unknown_codec_is_reported(path):
    used = VideoEncoder(path, (32, 32), 10, Encoding(vcodec="nonsense"))
    used.start()
    with pytest.raises(DataError, match="pictures of front could not be saved"):
        used.finish(0)


@pytest.mark.parametrize(("held", "wanted"), [(5, 40), (40, 41), (3, 2)])
def test_a_wrong_number_of_frames_is_noticed(path, held, wanted):
    encode(path, [numbered(number) for number in range(held)])
    with pytest.raises(DataError, match=f"holds {held} of {wanted} frames"):
        check_frames(path, wanted, 10)


def test_a_file_that_was_cut_off_is_noticed(path):
    encode(path, [scene(64, 64, seed) for seed in range(30)])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="cannot be decoded"):
        check_frames(path, 30, 10)
    with pytest.raises(DataError, match="cannot be decoded"):
        list(read_frames(path, 10))


def test_rotten_pictures_inside_a_whole_file_are_noticed(path):
    encode(path, [scene(64, 64, seed) for seed in range(30)])
    content = bytearray(path.read_bytes())
    content[2000 : len(content) // 2] = bytes(len(content) // 2 - 2000)
    path.write_bytes(bytes(content))
    with pytest.raises(DataError):
        check_frames(path, 30, 10)


def test_lerobot_finds_the_video_as_described(path):
    from lerobot.datasets.video_utils import get_video_info

    encode(path, [scene(64, 64, seed) for seed in range(3)])
    told, found = Encoding().feature_info(64, 64, 10), get_video_info(path)
    assert {key: told[key] for key in found} == found
