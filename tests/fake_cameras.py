"""Cameras without cameras: a tree like Linux's /sys and /dev, a scripted device behind OpenCV, a patient clock."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from clocks import FakeClock
from numpy.typing import NDArray

ImageArray = NDArray[np.uint8]


class DeviceTree:
    """Plug cameras in and out of a folder that looks like the root of a Linux machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.captures: set[str] = set()
        for folder in ("sys/class/video4linux", "sys/devices", "dev/v4l/by-id", "dev/v4l/by-path"):
            (root / folder).mkdir(parents=True)

    def plug(
        self, number: int, socket: str = "", serial: str = "", name: str = "Webcam", captures: bool = True
    ) -> None:
        """A node ``/dev/video<number>``; without ``socket`` it is not on USB."""
        node = self.root / f"dev/video{number}"
        node.touch()
        entry = self.root / f"sys/class/video4linux/video{number}"
        entry.mkdir()
        (entry / "name").write_text(f"{name}\n")
        device = self.root / "sys/devices" / (socket or f"platform-{number}")
        interface = device / f"{socket or 'csi'}:1.0"
        interface.mkdir(parents=True, exist_ok=True)
        (entry / "device").symlink_to(interface)
        if socket:
            (device / "idVendor").write_text("046d\n")
            (device / "idProduct").write_text("0825\n")
            if serial:
                (device / "serial").write_text(f"{serial}\n")
            link = self.root / f"dev/v4l/by-path/pci-usb-{socket}-video-index{number}"
            link.symlink_to(node)
        if captures:
            self.captures.add(str(node))

    def unplug_all(self) -> None:
        for folder in ("sys/class/video4linux", "dev/v4l/by-path"):
            for entry in (self.root / folder).iterdir():
                if entry.is_symlink():
                    entry.unlink()
                else:
                    (entry / "device").unlink()
                    (entry / "name").unlink()
                    entry.rmdir()
        for node in (self.root / "dev").glob("video*"):
            node.unlink()
        self.captures.clear()

    def can_capture(self, path: str) -> bool:
        return path in self.captures


class Scene:
    """What a scripted device sees: noise around a picture. Tests spoil it."""

    def __init__(self, width: int = 32, height: int = 24, fps: float = 100.0) -> None:
        self.size, self.fps = (width, height), fps
        self.rng = np.random.default_rng(0)
        self.still = self.rng.integers(40, 200, (height, width, 3), dtype=np.uint8)
        self.spoil: Callable[[ImageArray], ImageArray | None] = lambda picture: picture
        self.opens, self.hang = True, threading.Event()
        self.hangs_in_open = self.hangs_in_read = False
        self.taken = 0
        self.opened = 0

    def take(self) -> ImageArray | None:
        """(H, W, 3) BGR; None: the device fails."""
        self.taken += 1
        noise = self.rng.integers(-3, 4, self.still.shape)
        return self.spoil(np.clip(self.still + noise, 0, 255).astype(np.uint8))


class ScriptedCapture:
    """Stands in for ``cv2.VideoCapture``; the scenes lie in a dictionary, by number or path."""

    scenes: dict[int | str, Scene] = {}  # noqa: RUF012  (each test gives its own)
    forced: dict[int, float] = {}  # noqa: RUF012
    """Properties that the device insists on, whatever it is told."""

    def __init__(self, place: object, backend: int = 0) -> None:
        self.scene = self.scenes.get(place if isinstance(place, int) else str(place))
        if self.scene is not None:
            self.scene.opened += 1
            if self.scene.hangs_in_open:
                self.scene.hang.wait(20)
        self.open = self.scene is not None and self.scene.opens
        self.values: dict[int, float] = {}
        self.due_s = time.perf_counter()

    def isOpened(self) -> bool:  # noqa: N802
        return self.open

    def set(self, key: int, value: float) -> bool:
        self.values[key] = value
        return True

    def get(self, key: int) -> float:
        return {**self.values, **self.forced}.get(key, 0.0)

    def read(self) -> tuple[bool, ImageArray | None]:
        assert self.scene is not None
        self.due_s = max(self.due_s + 1 / self.scene.fps, time.perf_counter())
        time.sleep(max(0.0, self.due_s - time.perf_counter()))
        if self.scene.hangs_in_read:
            self.scene.hang.wait(20)
        picture = self.scene.take() if self.open else None
        return picture is not None, picture

    def release(self) -> None:
        self.open = False


class ClockedCamera:
    """A camera as LeRobot has them, whose pictures fall due on a clock that stands still by itself: nothing waits."""

    def __init__(self, clock: FakeClock, fps: int, size: tuple[int, int] = (24, 32)) -> None:
        self.clock, self.fps, (self.height, self.width) = clock, fps, size
        self.config, self.is_connected, self.opened = None, False, 0
        self.stands_since_s = float("inf")
        """No picture falls due after this moment."""
        self._rng = np.random.default_rng(0)
        self._still = self._rng.integers(40, 200, (*size, 3))

    def connect(self, warmup: bool = True) -> None:
        self.is_connected = True
        self.opened += 1

    def disconnect(self) -> None:
        self.is_connected = False

    @property
    def latest_timestamp(self) -> float:
        return np.floor(min(self.clock.now_s(), self.stands_since_s) * self.fps + 1e-6) / self.fps

    def read_latest(self, max_age_ms: float = 500) -> ImageArray:
        if 1e3 * (self.clock.now_s() - self.latest_timestamp) > max_age_ms:
            raise TimeoutError("the newest picture is too old")
        noise = self._rng.integers(-3, 4, self._still.shape)
        return np.asarray(self._still + noise, np.uint8)


def scripted_scenes(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int | str, Scene]]:
    """For a fixture: what OpenCV finds at each number; threads that hang there are let go afterwards."""
    monkeypatch.setattr(ScriptedCapture, "scenes", {})
    monkeypatch.setattr(ScriptedCapture, "forced", {})
    monkeypatch.setattr(cv2, "VideoCapture", ScriptedCapture)
    monkeypatch.setattr(threading, "excepthook", lambda arguments: None)  # LeRobot's reader dies with a traceback
    yield ScriptedCapture.scenes
    for scene in ScriptedCapture.scenes.values():
        scene.hang.set()


def film(path: Path, pictures: Sequence[ImageArray] | int = 30, size: tuple[int, int] = (24, 32)) -> Path:
    """A video file; ``pictures`` as a number: so many, each one shade brighter than the one before."""
    if isinstance(pictures, int):
        pictures = [np.full((*size, 3), 20 + 3 * k, np.uint8) for k in range(pictures)]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30)
        stream.height, stream.width, stream.pix_fmt = *pictures[0].shape[:2], "yuv420p"
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def number_of(picture: ImageArray) -> int:
    """Which picture of ``film(path, n)`` this is."""
    return round((float(picture.mean()) - 20) / 3)


def eventually(condition: Callable[[], Any], timeout_s: float = 5.0) -> bool:
    """Wait until ``condition`` holds."""
    give_up_s = time.monotonic() + timeout_s
    for _ in itertools.count():
        if condition():
            return True
        if time.monotonic() > give_up_s:
            return False
        time.sleep(0.005)
    return False
