"""LeRobot's OpenCV camera on a scripted device: bound, opened in time, and every way to go blind told by role."""

import errno
import struct
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from clocks import FakeClock
from fake_cameras import DeviceTree, Scene, ScriptedCapture, eventually, scripted_scenes
from lerobot.cameras.opencv import OpenCVCamera, OpenCVCameraConfig

from svm_robot.drivers.cameras import guard as guard_module
from svm_robot.drivers.cameras import v4l2
from svm_robot.drivers.cameras.devices import video_devices
from svm_robot.drivers.cameras.faults import (
    BlankCameraError,
    CameraError,
    FrozenCameraError,
    StaleCameraError,
    VanishedCameraError,
)
from svm_robot.drivers.cameras.group import CameraGroup, guard_cameras
from svm_robot.drivers.cameras.guard import GuardedCamera
from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.drivers.cameras.mode import FOURCC, FPS, Mode, listed
from svm_robot.drivers.clock import MonotonicClock
from svm_robot.drivers.identity import camera_identities
from svm_robot.errors import ConfigError, DeviceError, StaleError

LIMITS = CameraLimits(frozen_after_s=0.2, blank_after_s=0.2, least_rate=0.4, open_timeout_s=0.5, reconnect_wait_s=0.02)


@pytest.fixture
def scenes(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int | str, Scene]]:
    yield from scripted_scenes(monkeypatch)


@pytest.fixture
def tree(tmp_path: Path) -> DeviceTree:
    return DeviceTree(tmp_path)


class Bench:
    """A robot that is nothing but cameras."""

    def __init__(self, tree: DeviceTree, limits: CameraLimits = LIMITS, **places: Any) -> None:
        self.cameras: dict[str, Any] = {role: OpenCVCamera(config(place)) for role, place in places.items()}
        self.notes: list[str] = []
        self.group = guard_cameras(
            self, limits, MonotonicClock(), self.notes.append, lambda: video_devices(tree.root, tree.can_capture)
        )

    def get_observation(self) -> dict[str, Any]:
        return {role: camera.read_latest() for role, camera in self.cameras.items()}

    def open(self, max_frame_age_s: float = 1.0) -> CameraGroup:
        self.group.resolve()
        for camera in self.cameras.values():
            camera.connect()
        self.group.check(max_frame_age_s)
        return self.group

    def close(self) -> None:
        for camera in self.cameras.values():
            camera.disconnect()


def config(place: Any, **changes: Any) -> OpenCVCameraConfig:
    settings = {"index_or_path": place, "width": 32, "height": 24, "fps": 100, "warmup_s": 0}
    return OpenCVCameraConfig(**{**settings, **changes})


@pytest.fixture
def bench(tree: DeviceTree, scenes: dict[int | str, Scene]) -> Iterator[Bench]:
    """One open camera, the scene of which is ``scenes[4]``."""
    tree.plug(4, "1-1", "F1")
    scenes[4] = Scene()
    made = Bench(tree, front=Path("usb:F1"))
    made.open()
    yield made
    scenes[4].hang.set()
    made.close()


def fails(bench: Bench, within_s: float = 2.0) -> CameraError:
    """The error that reading comes to; it must not take longer."""
    caught: list[CameraError] = []

    def tried() -> bool:
        try:
            bench.get_observation()
        except CameraError as error:
            caught.append(error)
        return bool(caught)

    assert eventually(tried, within_s)
    return caught[0]


def test_an_identity_is_opened_where_the_device_is_now(bench: Bench) -> None:
    guard = bench.cameras["front"]
    assert (guard.identity, guard.inner.index_or_path) == ("usb:F1", 4)
    assert guard.device.startswith("usb:F1, /") and guard.device.endswith("/dev/video4")
    assert camera_identities(bench) == {"front": "opencv usb:F1"}
    assert guard.watch.noisy, "a real sensor's noise was seen"
    assert bench.get_observation()["front"].shape == (24, 32, 3)
    assert bench.notes == []


def test_roles_survive_new_numbers(tree: DeviceTree, scenes: dict[int | str, Scene]) -> None:
    red, blue = Scene(), Scene()
    red.still[:], blue.still[:] = red.still // 4 + [0, 0, 150], blue.still // 4 + [150, 0, 0]
    for front, wrist in ((0, 1), (1, 0)):
        tree.unplug_all()
        tree.plug(front, "1-1", "FRONT")
        tree.plug(wrist, "1-2", "WRIST")
        scenes.update({front: red, wrist: blue})
        bench = Bench(tree, front=Path("usb:FRONT"), wrist=Path("usb:WRIST"))
        bench.open()
        seen = bench.get_observation()
        bench.close()
        assert seen["front"][..., 0].mean() > seen["front"][..., 2].mean() + 100
        assert seen["wrist"][..., 2].mean() > seen["wrist"][..., 0].mean() + 100


def test_a_missing_role_is_named_before_anything_opens(tree: DeviceTree, scenes: dict[int | str, Scene]) -> None:
    tree.plug(0, "1-1", "FRONT")
    scenes[0] = Scene()
    bench = Bench(tree, front=Path("usb:FRONT"), wrist=Path("usb:WRIST"))
    with pytest.raises(DeviceError, match=r"camera 'wrist' is missing: no device usb:WRIST.*usb:FRONT \(Webcam\)"):
        bench.group.resolve()
    assert scenes[0].opened == 0


def test_equal_cameras_without_serial_are_bound_by_their_sockets(tree: DeviceTree) -> None:
    tree.plug(0, "1-1")
    tree.plug(2, "1-2")
    bench = Bench(tree, front=Path("usb-port:1-1"), wrist=Path("usb-port:1-2"))
    bench.group.resolve()
    assert [camera.inner.index_or_path for camera in bench.cameras.values()] == [0, 2]
    assert bench.notes == [
        f"camera '{role}' is bound to the socket usb-port:1-{n}: moving its plug breaks the binding"
        for n, role in ((1, "front"), (2, "wrist"))
    ]


def test_numbers_are_kept_and_told_and_their_devices_recorded(tree: DeviceTree) -> None:
    tree.plug(0, "1-1", "F")
    bench = Bench(tree, front=f"{tree.root}/dev/video0")
    bench.group.resolve()
    assert camera_identities(bench) == {"front": "opencv usb:F"}
    clumsy = Bench(tree, front=0)
    clumsy.cameras["front"].devices = lambda: [
        SimpleNamespace(path="/dev/video0", name="x", serial="F", socket="1-1", links=(), usb=None)
    ]
    clumsy.group.resolve()
    assert "camera 'front' is 0, a name that changes" in clumsy.notes[0] and "'usb:F' does not" in clumsy.notes[0]


def test_two_roles_on_one_device_are_refused(tree: DeviceTree) -> None:
    tree.plug(0, "1-1", "F")
    bench = Bench(tree, front=Path("usb:F"), wrist=Path("usb-port:1-1"))
    with pytest.raises(ConfigError, match="cameras 'front' and 'wrist' are one device"):
        bench.group.resolve()


def test_what_cannot_be_opened_is_told_by_role(tree: DeviceTree, scenes: dict[int | str, Scene]) -> None:
    tree.plug(4, "1-1", "F1")
    bench = Bench(tree, front=Path("usb:F1"))
    with pytest.raises(DeviceError, match=r"camera 'front' \(usb:F1, .*video4\): Failed to open .*find cameras"):
        bench.open()


def test_an_opening_that_hangs_is_given_up(tree: DeviceTree, scenes: dict[int | str, Scene]) -> None:
    tree.plug(4, "1-1", "F1")
    scenes[4] = Scene()
    scenes[4].hangs_in_open = True
    bench = Bench(tree, front=Path("usb:F1"))
    began = time.monotonic()
    with pytest.raises(DeviceError, match=r"opening camera 'front' \(usb:F1.* within 0\.5 s and was given up"):
        bench.open()
    assert time.monotonic() - began < 3
    with pytest.raises(DeviceError, match="still hangs since an earlier try"):
        bench.cameras["front"].connect()
    scenes[4].hangs_in_open = False
    scenes[4].hang.set()
    assert eventually(lambda: not bench.cameras["front"].is_connected and not bench.cameras["front"]._bounded.hangs)
    bench.open()
    bench.close()


@pytest.mark.parametrize(
    ("forced", "says"),
    [({3: 640}, "capture_width=32"), ({FPS: 15}, "fps=100"), ({FOURCC: 0x56595559}, "32x24 at 100/s MJPG")],
)
def test_another_mode_is_refused_with_those_it_has(
    tree: DeviceTree, scenes: dict[int | str, Scene], forced: dict[int, float], says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    tree.plug(4, "1-1", "F1")
    scenes[4] = Scene()
    monkeypatch.setattr(guard_module, "modes", lambda path: [Mode(640, 480, 30, "YUYV"), Mode(640, 480, 15, "YUYV")])
    monkeypatch.setattr(ScriptedCapture, "forced", forced)
    camera = OpenCVCamera(config(Path("usb:F1"), fourcc="MJPG"))
    devices = partial(video_devices, tree.root, tree.can_capture)
    guard = GuardedCamera(camera, "front", LIMITS, MonotonicClock(), devices)
    with pytest.raises(DeviceError) as refused:
        guard.connect()
    assert says in str(refused.value) and "it has YUYV 640x480 at 30, 15" in str(refused.value)
    assert not guard.is_connected


def test_what_arrives_is_measured(tree: DeviceTree, scenes: dict[int | str, Scene]) -> None:
    tree.plug(4, "1-1", "F1")
    scenes[4] = Scene(fps=20)
    bench = Bench(tree, front=Path("usb:F1"))
    with pytest.raises(DeviceError, match=r"asked for 100 pictures per second, [12]\d\.\d arrive"):
        bench.open()
    with pytest.raises(DeviceError, match=r"every \d\d ms can never be younger than the 10 ms that max_frame_age_s"):
        bench.group.check(0.01)
    bench.close()
    scenes[4].fps, scenes[4].still = 100, np.zeros_like(scenes[4].still)
    bench.open()
    bench.close()
    assert "camera 'front' (usb:F1" in bench.notes[0] and "is black" in bench.notes[0]


def test_a_device_that_repeats_one_picture_is_frozen(bench: Bench, scenes: dict[int | str, Scene]) -> None:
    kept = bench.get_observation()["front"][..., ::-1].copy()
    scenes[4].spoil = lambda picture: kept.copy()
    error = fails(bench)
    assert isinstance(error, FrozenCameraError) and isinstance(error, StaleError)
    assert error.role == "front" and "usb:F1" in error.device
    assert error.age_s is not None and error.age_s >= 0.2
    assert str(error).startswith("camera 'front' (usb:F1, ") and "frozen" in str(error)


def test_a_covered_lens(bench: Bench, scenes: dict[int | str, Scene]) -> None:
    scenes[4].spoil = lambda picture: picture // 32
    error = fails(bench)
    assert isinstance(error, BlankCameraError) and "black" in str(error)


def test_a_device_that_blocks_for_ever(bench: Bench, scenes: dict[int | str, Scene]) -> None:
    scenes[4].hangs_in_read = True
    error = fails(bench)
    assert isinstance(error, StaleCameraError) and error.age_s is not None and 0.4 < error.age_s < 2
    began = time.monotonic()
    with pytest.raises(StaleCameraError):
        bench.get_observation()
    assert time.monotonic() - began < 1, "the loop is not held up"


def test_an_unplugged_device(bench: Bench, scenes: dict[int | str, Scene]) -> None:
    scenes[4].spoil = lambda picture: None
    error = fails(bench)
    assert isinstance(error, VanishedCameraError) and "it is gone" in str(error)


def test_a_gap_that_is_over_needs_no_reconnection(bench: Bench, scenes: dict[int | str, Scene]) -> None:
    scenes[4].hangs_in_read = True
    fails(bench)
    scenes[4].hangs_in_read = False
    scenes[4].hang.set()
    bench.group.recover()
    assert scenes[4].opened == 1
    assert bench.get_observation()["front"].shape == (24, 32, 3)


def test_a_camera_comes_back_between_episodes_under_another_number(
    bench: Bench, tree: DeviceTree, scenes: dict[int | str, Scene]
) -> None:
    scenes[4].spoil = lambda picture: None
    fails(bench)
    tree.unplug_all()
    tree.plug(7, "2-1", "F1")
    scenes[7] = Scene()
    bench.group.recover()
    assert "opening it again (1 of 3)" in bench.notes[0] and "it is gone" in bench.notes[0]
    assert bench.notes[-1].endswith("video7) delivers again")
    assert bench.get_observation()["front"].shape == (24, 32, 3)
    bench.group.recover()
    assert scenes[7].opened == 1, "a camera that delivers is left alone"


def test_a_camera_that_stays_away_is_given_up_after_some_tries(
    bench: Bench, tree: DeviceTree, scenes: dict[int | str, Scene]
) -> None:
    scenes[4].spoil = lambda picture: None
    fails(bench)
    tree.unplug_all()
    began = time.monotonic()
    with pytest.raises(DeviceError, match="camera 'front' is missing"):
        bench.group.recover()
    assert [note.partition("opening it again ")[2] for note in bench.notes] == ["(1 of 3)", "(2 of 3)", "(3 of 3)"]
    assert 0.02 + 0.04 < time.monotonic() - began < 10


def test_a_lens_that_stays_covered_ends_it(bench: Bench, scenes: dict[int | str, Scene]) -> None:
    scenes[4].spoil = lambda picture: picture // 32
    fails(bench)
    with pytest.raises(BlankCameraError, match="black"):
        bench.group.recover()
    scenes[4].spoil = lambda picture: picture
    bench.group.recover()
    bench.get_observation()


def test_modes_are_read_from_the_device(tmp_path: Path) -> None:
    node = tmp_path / "video0"
    node.touch()
    formats, sizes, rates = ["MJPG", "YUYV"], [(1280, 720), (640, 480)], [(1, 30), (1, 15), (100, 2997)]

    def kernel(descriptor: int, request: int, buffer: bytearray) -> int:
        index = struct.unpack_from("<I", buffer)[0]
        try:
            match request:
                case v4l2.QUERYCAP:
                    struct.pack_into("<II", buffer, 84, 0x84A00001, 0x04200001)
                case v4l2.ENUM_FMT:
                    buffer[44:48] = formats[index].encode()
                case v4l2.ENUM_FRAMESIZES:
                    struct.pack_into("<III", buffer, 8, 1, *sizes[index])
                case v4l2.ENUM_FRAMEINTERVALS:
                    struct.pack_into("<III", buffer, 16, 1, *rates[index])
        except IndexError:
            raise OSError(errno.EINVAL, "no more") from None
        return 0

    assert v4l2.can_capture(str(node), kernel)
    told = v4l2.modes(str(node), kernel)
    assert len(told) == 12
    assert told[0] == Mode(1280, 720, 30.0, "MJPG")
    assert listed(told) == (
        "MJPG 1280x720 at 30, 15, 29.97; 640x480 at 30, 15, 29.97 | "
        "YUYV 1280x720 at 30, 15, 29.97; 640x480 at 30, 15, 29.97"
    )

    def metadata(descriptor: int, request: int, buffer: bytearray) -> int:
        struct.pack_into("<II", buffer, 84, 0x84A00001, 0x04A00000)  # this node: no pictures
        return 0

    assert not v4l2.can_capture(str(node), metadata)
    assert not v4l2.can_capture(str(node)), "a file is no video device"
    assert (v4l2.can_capture(str(tmp_path / "none")), v4l2.modes(str(tmp_path / "none"))) == (False, [])


def test_the_numbers_of_the_ioctls_are_those_of_linux() -> None:
    def number(letter: str, index: int, size: int, direction: int) -> int:
        return direction << 30 | size << 16 | ord(letter) << 8 | index

    assert number("V", 0, v4l2._CAPABILITY.size, 2) == v4l2.QUERYCAP
    assert number("V", 2, v4l2._FORMAT.size, 3) == v4l2.ENUM_FMT
    assert number("V", 74, v4l2._SIZE.size, 3) == v4l2.ENUM_FRAMESIZES
    assert number("V", 75, v4l2._INTERVAL.size, 3) == v4l2.ENUM_FRAMEINTERVALS


def test_an_old_picture_is_given_to_a_rig_that_allows_it(bench: Bench, scenes: dict[int | str, Scene]) -> None:
    bench.group.check(max_frame_age_s=5.0)
    scenes[4].hangs_in_read = True
    time.sleep(0.7)
    bench.get_observation()
    with pytest.raises(StaleCameraError):
        bench.cameras["front"].read_latest(max_age_ms=500)


class Bare:
    """A camera of somebody who keeps no configuration, no time and no number."""

    fps = width = height = None
    is_connected = True

    def read_latest(self, max_age_ms: float) -> np.ndarray[Any, Any]:
        return np.full((4, 6, 3), 100, np.uint8) + np.arange(6, dtype=np.uint8)[:, None] * 20


def test_cameras_that_tell_next_to_nothing_are_let_be(tree: DeviceTree) -> None:
    bench = Bench(tree)
    bench.cameras["side"] = Bare()
    group = guard_cameras(bench, LIMITS, FakeClock(), bench.notes.append, list)
    group.resolve()
    group.check(0.2)
    group.recover()
    assert bench.get_observation()["side"].shape == (4, 6, 3)
    assert bench.notes == []


def test_fake_time_is_enough_for_a_camera_that_is_fresh() -> None:
    """No threads, no waiting: what a guard says of ages comes from the clock it was given."""
    clock = FakeClock()
    camera = SimpleNamespace(config=SimpleNamespace(fps=30), latest_timestamp=99.5)
    assert GuardedCamera(camera, "front", LIMITS, clock, list).age_s == 0.5
