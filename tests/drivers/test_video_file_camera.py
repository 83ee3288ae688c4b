"""A video file as a camera: which picture comes when depends on the clock alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clocks import FakeClock
from fake_cameras import film, number_of

from svm_robot.drivers.cameras.config_video_file import VideoFileCameraConfig
from svm_robot.drivers.cameras.guard import GuardedCamera
from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.drivers.cameras.measure import measure
from svm_robot.drivers.cameras.video_file import SKIP_FRAMES, VideoFileCamera
from svm_robot.drivers.identity import camera_identity
from svm_robot.drivers.rig import RigConfig
from svm_robot.errors import ConfigError, DeviceError, StaleError
from svm_robot.scripts.cli import parse

LENGTH = 70


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return film(tmp_path_factory.mktemp("film") / "film.mp4", LENGTH)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def camera(path: Path, clock: FakeClock, **settings: Any) -> VideoFileCamera:
    made = VideoFileCamera(VideoFileCameraConfig(path=path, **{"fps": 30, **settings}), clock)
    made.connect()
    return made


def test_each_picture_comes_at_its_time(path: Path, clock: FakeClock) -> None:
    film_camera = camera(path, clock)
    for due in (0, 1, 1, 5, 40, LENGTH - 1, LENGTH, LENGTH + 7, 30 * LENGTH + SKIP_FRAMES + 13):
        clock.time_s = 100.0 + due / 30 + 0.001
        picture = film_camera.read_latest()
        assert film_camera.latest_number == due
        assert number_of(picture) == due % LENGTH
        assert film_camera.latest_timestamp == pytest.approx(100.0 + due / 30)
    film_camera.disconnect()


def test_two_cameras_show_the_same(path: Path) -> None:
    shown = []
    for steps in ((0.3, 0.3, 0.3), (0.9,)):
        clock = FakeClock()
        film_camera = camera(path, clock)
        for step in steps:
            clock.time_s += step
            picture = film_camera.read_latest()
        shown.append(picture)
        film_camera.disconnect()
    np.testing.assert_array_equal(*shown)


def test_the_pace_is_the_configurations(path: Path, clock: FakeClock) -> None:
    slow = camera(path, clock, fps=5)
    clock.time_s += 1.001
    assert number_of(slow.read_latest()) == 5
    assert measure({"front": slow}, clock, 6)["front"].fps == pytest.approx(5, rel=0.05)
    slow.disconnect()
    own = camera(path, clock, fps=None)
    assert (own.fps, own.width, own.height) == (30, 32, 24)
    own.disconnect()


def test_pictures_are_the_callers_own(path: Path, clock: FakeClock) -> None:
    film_camera = camera(path, clock)
    film_camera.read_latest()[:] = 0
    assert number_of(film_camera.read_latest()) == 0
    film_camera.disconnect()


def test_without_a_loop_the_end_is_stale(path: Path, clock: FakeClock) -> None:
    film_camera = camera(path, clock, loop=False)
    clock.time_s += LENGTH / 30 + 0.1
    assert number_of(film_camera.read_latest()) == LENGTH - 1
    with pytest.raises(StaleError, match="the file has ended"):
        film_camera.async_read()
    clock.time_s += 5
    with pytest.raises(StaleError, match=r"newest picture is 51\d\d ms old.*the file has ended"):
        film_camera.read_latest()
    film_camera.disconnect()


def test_a_loop_over_one_picture_is_no_frozen_camera(tmp_path: Path, clock: FakeClock) -> None:
    still = np.full((24, 32, 3), 90, np.uint8)
    still[:12] = 180
    film_camera = VideoFileCamera(VideoFileCameraConfig(path=film(tmp_path / "one.mp4", [still] * 2), fps=30), clock)
    guard = GuardedCamera(film_camera, "front", CameraLimits(), clock, list)
    guard.connect()
    for _ in range(90):
        clock.time_s += 1 / 30
        guard.read_latest()
    guard.disconnect()


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"width": 64, "height": 24}, ConfigError, "32x24 pixels, the configuration says 64x24"),
        ({"path": Path("none.mp4")}, DeviceError, "cannot play none.mp4 as a camera"),
        ({"path": Path(__file__)}, DeviceError, "cannot play .*test_video_file_camera.py as a camera"),
        ({"fps": 0}, ConfigError, "fps of a video_file camera is 0"),
    ],
)
def test_what_cannot_be_played(
    path: Path, clock: FakeClock, settings: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        camera(**{"path": path, "clock": clock, **settings})


def test_a_file_that_is_cut_short_is_told(path: Path, tmp_path: Path, clock: FakeClock) -> None:
    torn = tmp_path / "torn.mp4"
    torn.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(DeviceError, match="cannot play"):
        camera(torn, clock)


def test_a_rig_file_names_it_like_any_camera(path: Path, tmp_path: Path) -> None:
    film_camera = f"{{type: video_file, path: {path}, width: 32, height: 24, fps: 30}}"
    file = tmp_path / "rig.yaml"
    file.write_text(f"robot:\n  type: so101_follower\n  port: usb:A\n  cameras:\n    front: {film_camera}\n")
    rig = parse(RigConfig, [], rig=str(file))
    assert isinstance(rig.robot.cameras["front"], VideoFileCameraConfig)
    assert camera_identity(rig.robot.cameras["front"]) == f"video_file {path}"
