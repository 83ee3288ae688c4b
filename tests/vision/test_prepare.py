"""Frames to model size: geometry, refusals by name, identical bytes live and in training."""

import numpy as np
import pytest
import torch

from svm_robot.errors import ConfigError, DataError
from svm_robot.vision.prepare import Letterbox, fit, jitter, letterbox, prepare, to_float


def pictures(count: int, height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("source", "side", "box"),
    [
        ((64, 64), 64, Letterbox((64, 64), (64, 64), (64, 64), (0, 0))),
        ((32, 32), 64, Letterbox((32, 32), (32, 32), (32, 32), (0, 0))),
        ((480, 640), 64, Letterbox((480, 640), (48, 64), (48, 64), (0, 0))),
        ((720, 1280), 64, Letterbox((720, 1280), (40, 64), (36, 64), (2, 0))),
        ((30, 50), 64, Letterbox((30, 50), (32, 56), (30, 50), (1, 3))),
    ],
)
def test_geometry(source: tuple[int, int], side: int, box: Letterbox) -> None:
    assert fit(source, side) == box


def test_small_frames_pass_untouched_and_padding_is_black() -> None:
    same = torch.from_numpy(pictures(2, 64, 64))
    assert letterbox(same, fit((64, 64), 64)) is same
    boxed = letterbox(torch.full((1, 720, 1280, 3), 200, dtype=torch.uint8), fit((720, 1280), 64))
    assert boxed.shape == (1, 40, 64, 3) and boxed.dtype == torch.uint8
    assert boxed[0, :2].max() == 0 and boxed[0, 38:].max() == 0 and boxed[0, 2:38].min() == 200


def test_scaling_keeps_the_place_of_things() -> None:
    picture = np.zeros((1, 480, 640, 3), np.uint8)
    picture[0, 240:320, 480:560] = 255
    small = letterbox(torch.from_numpy(picture), fit((480, 640), 64))[0, :, :, 0].float()
    rows, columns = torch.nonzero(small > 128, as_tuple=True)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (24, 31, 48, 55)


def test_one_frame_alone_equals_the_same_frame_in_a_batch() -> None:
    boxes = {"front": fit((48, 100), 64)}
    frames = pictures(5, 48, 100)
    together = to_float(prepare({"front": frames}, boxes)["front"])
    alone = to_float(prepare({"front": frames[3:4]}, boxes)["front"])
    assert torch.equal(together[3:4], alone)


def test_values_and_layout() -> None:
    images = to_float(torch.tensor([0, 255], dtype=torch.uint8).reshape(2, 1, 1, 1).expand(2, 8, 8, 3))
    assert images.shape == (2, 3, 8, 8) and images[0].max() == -1 and images[1].min() == 1
    assert to_float(torch.from_numpy(pictures(2, 8, 8))).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        ({"front": pictures(1, 64, 64)}, "missing wrist"),
        ({"front": pictures(1, 64, 64), "wrist": pictures(1, 32, 32), "side": pictures(1, 8, 8)}, "unexpected side"),
        ({"front": pictures(1, 32, 32), "wrist": pictures(1, 64, 64)}, "camera front: pictures are 32x32.*64x64"),
        ({"front": pictures(1, 64, 64).astype(np.float32), "wrist": pictures(1, 32, 32)}, "front: expected.*float32"),
        ({"front": pictures(1, 64, 64)[0], "wrist": pictures(1, 32, 32)}, "front: expected"),
    ],
)
def test_wrong_frames_are_refused_by_name(frames: dict[str, np.ndarray], said: str) -> None:
    with pytest.raises(DataError, match=said):
        prepare(frames, {"front": fit((64, 64), 64), "wrist": fit((32, 32), 64)})


@pytest.mark.parametrize(("source", "side"), [((0, 64), 64), ((64, 64), 4)])
def test_impossible_sizes_are_refused(source: tuple[int, int], side: int) -> None:
    with pytest.raises(ConfigError):
        fit(source, side)


def test_letterbox_refuses_another_size() -> None:
    with pytest.raises(DataError, match="10x10, expected 64x64"):
        letterbox(torch.zeros((1, 10, 10, 3), dtype=torch.uint8), fit((64, 64), 64))


def test_jitter_changes_each_picture_a_little_and_repeats_by_seed() -> None:
    images = to_float(torch.from_numpy(pictures(6, 16, 16)))
    once = jitter(images.clone(), 0.1, torch.Generator().manual_seed(1))
    again = jitter(images.clone(), 0.1, torch.Generator().manual_seed(1))
    other = jitter(images.clone(), 0.1, torch.Generator().manual_seed(2))
    assert torch.equal(once, again) and not torch.equal(once, other)
    shift = (once - images).abs().amax(dim=(1, 2, 3))
    assert shift.min() > 0.01 and shift.max() < 0.3
    assert torch.equal(jitter(images.clone(), 0.0, torch.Generator()), images)


def test_jitter_may_be_drawn_elsewhere_than_the_pictures_are() -> None:
    images = torch.empty((2, 3, 8, 8), device="meta")  # any device but the generator's
    assert jitter(images, 0.1, torch.Generator()).device.type == "meta"
