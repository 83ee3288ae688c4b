"""Frozen and blind cameras are told from still scenes by what their pictures show."""

import numpy as np
import pytest

from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.drivers.cameras.watch import NOISY, FrameWatch, ImageArray, blankness, noise_share, thinned
from svm_robot.errors import ConfigError

RNG = np.random.default_rng(1)
STILL = RNG.integers(30, 220, (48, 64, 3), dtype=np.uint8)


def noisy() -> ImageArray:
    return np.clip(STILL + RNG.integers(-2, 3, STILL.shape), 0, 255).astype(np.uint8)


def with_a_hand(k: int) -> ImageArray:
    """A simulated scene without noise, in which something small moves."""
    picture = STILL.copy()
    picture[k : k + 12, 10:20] = 255
    return picture


def test_sensor_noise_is_told_from_motion() -> None:
    assert noise_share([noisy() for _ in range(8)]) > NOISY
    assert noise_share([with_a_hand(k) for k in range(8)]) < NOISY
    assert noise_share([STILL] * 8) == 0.0
    assert noise_share([STILL]) == 0.0
    twice = [picture for _ in range(6) for picture in [noisy()] * 2]
    assert noise_share(twice) > NOISY, "in dim light some cameras give each picture twice"


def test_a_noisy_camera_that_repeats_itself_is_frozen() -> None:
    watch = FrameWatch(CameraLimits(frozen_after_s=0.5), noisy=True)
    for k in range(30):
        assert watch.see(noisy(), k * 0.1) is None
    last = noisy()
    told = [watch.see(last.copy(), 3.0 + k * 0.1) for k in range(7)]
    assert told[:5] == [None] * 5
    assert told[6] is not None
    assert (told[6].kind, told[6].since_s) == ("frozen", 3.0)
    assert watch.see(noisy(), 3.8) is None, "it goes on"


def test_the_same_picture_shown_again_is_not_a_repetition() -> None:
    watch = FrameWatch(CameraLimits(frozen_after_s=0.5), noisy=True)
    assert all(watch.see(STILL, 1.0) is None for _ in range(100))


def test_a_still_scene_without_noise_is_no_fault() -> None:
    watch = FrameWatch(CameraLimits(), noisy=False)
    assert all(watch.see(STILL, k * 0.1) is None for k in range(100))


def test_a_still_scene_is_no_fault_where_exposures_are_counted() -> None:
    watch = FrameWatch(CameraLimits(frozen_after_s=0.5), noisy=False)
    assert all(watch.see(STILL, k * 0.1, number=k) is None for k in range(50))
    told = [watch.see(STILL, 5.0 + k * 0.1, number=49) for k in range(7)]
    assert told[3] is None
    assert told[6] is not None and told[6].kind == "frozen"
    counted = FrameWatch(CameraLimits(frozen_after_s=0.5), noisy=True)
    assert all(counted.see(STILL, k * 0.1, number=k) is None for k in range(50)), "it may look at a screen"


@pytest.mark.parametrize(
    ("picture", "says"),
    [
        (np.zeros_like(STILL), "black"),
        (RNG.integers(0, 12, STILL.shape, dtype=np.uint8), "black"),
        (np.full_like(STILL, 255), "one colour"),
        (np.full_like(STILL, [200, 120, 90]), "one colour"),
        (STILL, ""),
        (with_a_hand(3) // 4, ""),
    ],
    ids=["black", "black with noise", "white", "covered by a finger", "something", "dim"],
)
def test_pictures_that_show_nothing(picture: ImageArray, says: str) -> None:
    why = blankness(thinned(picture))
    assert says in why and bool(says) == bool(why)


def test_blindness_counts_only_after_a_while() -> None:
    watch, dark = FrameWatch(CameraLimits(blank_after_s=1.0)), np.zeros_like(STILL)
    assert watch.see(STILL, 0.0) is None
    told = [watch.see(dark, 0.1 * k) for k in range(1, 13)]
    assert told[8] is None, "the exposure may need a moment"
    finding = told[-1]
    assert finding is not None and finding.kind == "blank" and finding.since_s == 0.0
    assert "black" in finding.what and "1.2 s" in finding.what
    assert watch.see(STILL, 1.3) is None


def test_what_is_switched_off_is_not_watched() -> None:
    watch = FrameWatch(CameraLimits(frozen_after_s=0, blank_after_s=0), noisy=True)
    assert all(watch.see(np.zeros_like(STILL), float(k)) is None for k in range(20))


@pytest.mark.parametrize("wrong", [{"frozen_after_s": -1}, {"least_rate": float("nan")}, {"open_timeout_s": 0}])
def test_limits_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        CameraLimits(**wrong)  # type: ignore[arg-type]


def test_large_pictures_are_thinned() -> None:
    assert max(thinned(np.zeros((1080, 1920, 3), np.uint8)).shape[:2]) < 110
