"""What every camera must do behind its guard, whatever takes the pictures. A new kind of camera is one more row."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import doc_devices
import numpy as np
import pytest
from fake_cameras import Scene, film, scripted_scenes
from lerobot.cameras import Camera
from lerobot.cameras.opencv import OpenCVCamera, OpenCVCameraConfig
from lerobot.cameras.utils import make_cameras_from_configs
from lerobot.robots.so_follower import SO101Follower, SO101FollowerConfig

from svm_robot.drivers.camera_frames import timed_frame
from svm_robot.drivers.cameras.config_video_file import VideoFileCameraConfig
from svm_robot.drivers.cameras.faults import CameraError
from svm_robot.drivers.cameras.guard import GuardedCamera
from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.drivers.clock import MonotonicClock
from svm_robot.drivers.config_virtual_camera import VirtualCameraConfig
from svm_robot.drivers.virtual.frames import FrameWriter
from svm_robot.errors import SvmRobotError

SIZE = (24, 32)
FPS = 50


@dataclass(frozen=True)
class Source:
    """What a row puts before the camera."""

    config: Any
    stop: Callable[[], object]
    """Ends the pictures."""
    free: Callable[[], object] = lambda: None
    """Lets go what ``stop`` has blocked."""


def video_file(folder: Path, scenes: dict[int | str, Scene], stack: ExitStack) -> Source:
    """One pass of three seconds; stopping is waiting for its end, so it ends soon."""
    path = film(folder / "film.mp4", 20)
    config = VideoFileCameraConfig(path=path, loop=False, fps=FPS, width=SIZE[1], height=SIZE[0])
    return Source(config, lambda: time.sleep(20 / FPS))


def virtual(folder: Path, scenes: dict[int | str, Scene], stack: ExitStack) -> Source:
    """The shared memory of a cell, filled by a thread."""
    writer, stop, numbers = FrameWriter(folder / "front", SIZE), threading.Event(), np.random.default_rng(0)

    def fill() -> None:
        while not stop.wait(1 / FPS):
            writer.put(numbers.integers(0, 256, (*SIZE, 3), dtype=np.uint8), time.perf_counter())

    writer.put(numbers.integers(0, 256, (*SIZE, 3), dtype=np.uint8), time.perf_counter())
    thread = threading.Thread(target=fill)
    thread.start()
    stack.callback(writer.close)
    stack.callback(thread.join)
    stack.callback(stop.set)
    config = VirtualCameraConfig(cell=str(folder), role="front", fps=FPS, width=SIZE[1], height=SIZE[0])
    return Source(config, stop.set)


def opencv(folder: Path, scenes: dict[int | str, Scene], stack: ExitStack) -> Source:
    """LeRobot's OpenCV camera on a scripted device."""
    scene = scenes[0] = Scene(SIZE[1], SIZE[0], fps=FPS)
    config = OpenCVCameraConfig(index_or_path=0, fps=FPS, width=SIZE[1], height=SIZE[0], warmup_s=0)
    return Source(config, lambda: setattr(scene, "hangs_in_read", True), scene.hang.set)


def chart(folder: Path, scenes: dict[int | str, Scene], stack: ExitStack) -> Source:
    """The example of docs/adding-a-device.md, which stands still when it is told to."""
    config = doc_devices.device("chart").ChartConfig(fps=FPS, width=SIZE[1], height=SIZE[0])
    return Source(config, lambda: setattr(config, "pictures", 1))


ROWS = {"video file": video_file, "virtual": virtual, "opencv": opencv, "of the page": chart}


@dataclass
class Bench:
    """A camera under test."""

    guard: GuardedCamera
    source: Source

    def newest(self) -> tuple[Any, float]:
        return timed_frame(self.guard, self.guard.read_latest(), time.perf_counter())


@pytest.fixture(params=list(ROWS))
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with ExitStack() as stack:
        scripted = scripted_scenes(monkeypatch)
        stack.callback(next, scripted, None)
        source = ROWS[request.param](tmp_path, next(scripted), stack)
        camera = make_cameras_from_configs({"front": source.config})["front"]
        guard = GuardedCamera(camera, "front", CameraLimits(open_timeout_s=5), MonotonicClock(), list)
        stack.callback(guard.disconnect)
        stack.callback(source.free)
        yield Bench(guard, source)


def test_it_is_a_camera_of_lerobot(bench: Bench) -> None:
    assert isinstance(bench.guard.inner, Camera)
    assert not bench.guard.is_connected
    assert (bench.guard.fps, bench.guard.width, bench.guard.height) == (FPS, SIZE[1], SIZE[0])


def test_pictures_have_the_size_asked_for_and_a_capture_time(bench: Bench) -> None:
    bench.guard.connect()
    bench.guard.async_read(timeout_ms=1000)
    picture, time_s = bench.newest()
    assert (picture.shape, picture.dtype) == ((*SIZE, 3), np.uint8)
    assert 0 <= time.perf_counter() - time_s < 1
    age_s = bench.guard.age_s
    assert age_s is not None and 0 <= age_s < 1


def test_the_newest_picture_is_given_at_once_and_time_goes_on(bench: Bench) -> None:
    bench.guard.connect()
    bench.guard.async_read(timeout_ms=1000)
    times = []
    for _ in range(5):
        began = time.perf_counter()
        times.append(bench.newest()[1])
        assert time.perf_counter() - began < 0.5
        time.sleep(2 / FPS)
    assert np.all(np.diff(times) > 0)


def test_the_next_picture_is_waited_for(bench: Bench) -> None:
    bench.guard.connect()
    stamps = []
    for _ in range(4):
        bench.guard.async_read(timeout_ms=1000)
        stamps.append(bench.guard.latest_timestamp)
    assert np.all(np.diff(stamps) > 0)


def test_a_source_that_stops_is_told_by_role_and_age(bench: Bench) -> None:
    bench.guard.connect()
    bench.guard.async_read(timeout_ms=1000)
    bench.source.stop()
    time.sleep(0.25)
    with pytest.raises(TimeoutError, match="camera 'front'") as told:
        bench.guard.read_latest(max_age_ms=150)
    error = told.value
    assert isinstance(error, CameraError) and error.role == "front"
    assert error.age_s is not None and error.age_s > 0.15
    assert bench.guard.fault is error


def test_without_connection_nothing_is_read(bench: Bench) -> None:
    with pytest.raises(ConnectionError, match="not connected"):
        bench.guard.read_latest()
    bench.guard.disconnect()


def test_it_can_be_closed_twice_and_opened_again(bench: Bench) -> None:
    for _ in range(2):
        bench.guard.connect()
        bench.guard.async_read(timeout_ms=1000)
        assert bench.guard.is_connected
        bench.guard.disconnect()
        bench.guard.disconnect()
        assert not bench.guard.is_connected


def test_another_size_is_refused(bench: Bench) -> None:
    bench.guard.inner.config.width = bench.guard.inner.width = 99
    if isinstance(bench.guard.inner, OpenCVCamera):  # an OpenCV device may take any wish; its pictures tell
        bench.guard.inner.capture_width = 99
        bench.guard.connect()
        time.sleep(0.2)
        with pytest.raises(SvmRobotError, match="front"):
            bench.guard.read_latest(max_age_ms=100)
        return
    with pytest.raises(SvmRobotError, match=r"32x24 pixels, the configuration says 99x24"):
        bench.guard.connect()
    assert not bench.guard.is_connected


def test_a_lerobot_robot_takes_it_among_its_cameras(bench: Bench, tmp_path: Path) -> None:
    robot = SO101Follower(
        SO101FollowerConfig(port="/none", cameras={"front": bench.source.config}, calibration_dir=tmp_path)
    )
    assert robot.observation_features["front"] == (*SIZE, 3)
    assert type(robot.cameras["front"]) is type(bench.guard.inner)
