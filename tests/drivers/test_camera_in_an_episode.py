"""Whole episodes over LeRobot's OpenCV camera on a scripted device: what is lost, what moves, how it goes on."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from clocks import FakeClock
from fake_cameras import ClockedCamera, ImageArray, Scene, scripted_scenes
from lerobot.cameras.opencv import OpenCVCamera, OpenCVCameraConfig

from svm_robot.drivers.cameras.faults import CameraError
from svm_robot.drivers.cameras.group import guard_cameras
from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.drivers.cameras.quiet import told_once
from svm_robot.drivers.clock import Clock, MonotonicClock
from svm_robot.drivers.rig_env import RigEnv
from svm_robot.drivers.safety import SafetyConfig

RATE_HZ = 20.0
STALE_S, FROZEN_S = 0.3, 0.5
GOOD = 40
"""Pictures before something goes wrong."""


@pytest.fixture
def scenes(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int | str, Scene]]:
    yield from scripted_scenes(monkeypatch)


class Arm:
    """One joint and some cameras."""

    name = robot_type = "arm"

    def __init__(self, cameras: dict[str, Any]) -> None:
        self.config, self.is_connected, self.sent = SimpleNamespace(), True, list[float]()
        self.cameras = cameras
        self.action_features = {"a.pos": float}
        self.observation_features = {"a.pos": float, **dict.fromkeys(cameras, (24, 32, 3))}

    def get_observation(self) -> dict[str, Any]:
        return {"a.pos": 0.0, **{role: camera.read_latest() for role, camera in self.cameras.items()}}

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        self.sent.append(action["a.pos"])
        return action

    def disconnect(self) -> None:
        self.is_connected = False


def opened(arm: Arm, notes: list[str], clock: Clock, rate_hz: float = RATE_HZ) -> RigEnv:
    limits = CameraLimits(frozen_after_s=FROZEN_S, least_rate=0.3, reconnect_wait_s=0.05)
    group = guard_cameras(arm, limits, clock, notes.append, list)
    group.resolve()
    for camera in arm.cameras.values():
        camera.connect()
    group.check(STALE_S)
    safety = SafetyConfig(limits={"a.pos": [-1.0, 1.0]}, cameras=limits)
    return RigEnv(
        arm, rate_hz=rate_hz, clock=clock, safety=safety, limits={}, max_frame_age_s=STALE_S, recover=group.recover
    )


def webcam(fps: int) -> OpenCVCamera:
    """LeRobot's own camera, with its thread, on device 0."""
    return OpenCVCamera(OpenCVCameraConfig(index_or_path=0, fps=fps, width=32, height=24, warmup_s=0))


def same(scene: Scene) -> Callable[[ImageArray], ImageArray]:
    """The very same array for ever."""
    kept = scene.still.copy()
    return lambda picture: kept


def equal(scene: Scene) -> Callable[[ImageArray], ImageArray]:
    """A new buffer with equal pixels."""
    return lambda picture: scene.still.copy()


def fails(scene: Scene) -> Callable[[ImageArray], None]:
    """``read()`` gives (False, None)."""
    return lambda picture: None


def blocks(scene: Scene) -> Callable[[ImageArray], ImageArray]:
    """``read()`` does not come back."""

    def wait(picture: ImageArray) -> ImageArray:
        scene.hang.wait(20)
        return picture

    return wait


@pytest.mark.parametrize("fault", [same, equal, fails, blocks])
def test_a_camera_that_stops_ends_the_episode_and_the_next_one_goes_well(
    scenes: dict[int | str, Scene], fault: Callable[[Scene], Callable[[ImageArray], ImageArray | None]]
) -> None:
    scene, notes = scenes.setdefault(0, Scene(fps=40)), list[str]()
    arm = Arm({"front": webcam(40)})
    env = opened(arm, notes, MonotonicClock())
    spoiled, begin = fault(scene), scene.taken
    scene.spoil = lambda picture: picture if scene.taken < begin + GOOD else spoiled(picture)
    env.reset()
    went_wrong_s, slowest_s = 0.0, 0.0
    with pytest.raises(CameraError) as told:
        for _ in range(200):
            asked_s = time.perf_counter()
            env.observe()
            slowest_s = max(slowest_s, time.perf_counter() - asked_s)
            env.apply(np.zeros(1, np.float32))
            if scene.taken >= begin + GOOD:
                went_wrong_s = went_wrong_s or asked_s
    assert told.value.role == "front" and "camera 'front' (" in str(told.value)
    blind_s = time.perf_counter() - (went_wrong_s or time.perf_counter())
    assert blind_s < max(STALE_S, FROZEN_S) + 1, "within the limits, and some for the machine"
    assert slowest_s < 1, "the loop is never held up"
    assert arm.sent and all(target == 0.0 for target in arm.sent)
    moves = len(arm.sent)
    scene.spoil = lambda picture: picture
    scene.hang.set()
    env.reset()
    for _ in range(5):
        env.observe()
    assert len(arm.sent) == moves
    env.close()


def test_two_rates_do_not_slow_the_loop() -> None:
    """The slow camera repeats; each picture says when it was taken."""
    clock, notes = FakeClock(), list[str]()
    env = opened(
        Arm({"front": ClockedCamera(clock, 30), "wrist": ClockedCamera(clock, 10)}), notes, clock, rate_hz=30.0
    )
    env.reset()
    began_s = clock.now_s()
    times = [env.observe().frame_times_s for _ in range(91)]
    assert clock.now_s() - began_s == pytest.approx(3)
    wrist = np.diff([told["wrist"] for told in times])
    assert np.count_nonzero(wrist) == 30 and np.all(wrist >= 0)
    assert np.count_nonzero(np.diff([told["front"] for told in times])) == 90
    ages = env.statistics().frame_age_mean_s
    assert ages["front"] < 1 / 30
    assert ages["wrist"] - ages["front"] == pytest.approx(1 / 30, abs=1e-3)  # 0, 1 and 2 periods old, in turns
    env.close()
    assert notes == []


def test_a_gap_that_is_over_soon_ends_the_episode_but_needs_no_reconnection() -> None:
    clock, notes = FakeClock(), list[str]()
    camera = ClockedCamera(clock, 40)
    env = opened(Arm({"front": camera}), notes, clock)
    env.reset()
    camera.stands_since_s = clock.now_s()
    with pytest.raises(CameraError, match="max_frame_age_s allows 300 ms"):
        for _ in range(40):
            env.observe()
    assert clock.now_s() - camera.stands_since_s < STALE_S + 2 / RATE_HZ
    camera.stands_since_s = float("inf")
    env.reset()
    assert env.observe().frames["front"].shape == (24, 32, 3)
    assert (camera.opened, notes) == (1, [])
    env.close()


def test_a_dying_reader_is_told_once_and_other_threads_keep_their_tracebacks(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: shown.append(str(arguments.exc_value)))

    def die(text: str) -> None:
        logging.getLogger("lerobot.cameras.opencv").warning("Error reading frame")
        raise RuntimeError(text)

    def run(name: str, text: str) -> None:
        thread = threading.Thread(target=die, args=(text,), name=name)
        thread.start()
        thread.join()

    with told_once():
        run("OpenCVCamera(0)_read_loop", "camera")
        run("worker", "other")
    run("OpenCVCamera(0)_read_loop", "afterwards")
    assert shown == ["other", "afterwards"]
    assert [record.message for record in caplog.records] == ["Error reading frame"]
