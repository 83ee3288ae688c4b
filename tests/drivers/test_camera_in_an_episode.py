"""Whole episodes over LeRobot's OpenCV camera on a scripted device: what is lost, what moves, how it goes on."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fake_cameras import ImageArray, Scene, scripted_scenes
from lerobot.cameras.opencv import OpenCVCamera, OpenCVCameraConfig

from svm_robot.drivers.cameras.faults import CameraError
from svm_robot.drivers.cameras.group import guard_cameras
from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.drivers.cameras.quiet import told_once
from svm_robot.drivers.clock import MonotonicClock
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

    def __init__(self, rates: dict[str, int]) -> None:
        self.config, self.is_connected, self.sent = SimpleNamespace(), True, list[float]()
        self.cameras: dict[str, Any] = {
            role: OpenCVCamera(OpenCVCameraConfig(index_or_path=n, fps=fps, width=32, height=24, warmup_s=0))
            for n, (role, fps) in enumerate(rates.items())
        }
        self.action_features = {"a.pos": float}
        self.observation_features = {"a.pos": float, **dict.fromkeys(rates, (24, 32, 3))}

    def get_observation(self) -> dict[str, Any]:
        return {"a.pos": 0.0, **{role: camera.read_latest() for role, camera in self.cameras.items()}}

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        self.sent.append(action["a.pos"])
        return action

    def disconnect(self) -> None:
        self.is_connected = False


def opened(
    arm: Arm, notes: list[str], rate_hz: float = RATE_HZ, stale_s: float = STALE_S, frozen_s: float = FROZEN_S
) -> RigEnv:
    clock, limits = MonotonicClock(), CameraLimits(frozen_after_s=frozen_s, least_rate=0.3, reconnect_wait_s=0.05)
    group = guard_cameras(arm, limits, clock, notes.append, list)
    group.resolve()
    for camera in arm.cameras.values():
        camera.connect()
    group.check(stale_s)
    safety = SafetyConfig(limits={"a.pos": [-1.0, 1.0]}, cameras=limits)
    return RigEnv(
        arm, rate_hz=rate_hz, clock=clock, safety=safety, limits={}, max_frame_age_s=stale_s, recover=group.recover
    )


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
    arm = Arm({"front": 40})
    env = opened(arm, notes)
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


def test_two_rates_do_not_slow_the_loop(scenes: dict[int | str, Scene]) -> None:
    """The slow camera repeats; each picture says when it was taken."""
    scenes[0], scenes[1] = Scene(fps=30), Scene(fps=10)
    notes: list[str] = []
    env = opened(Arm({"front": 30, "wrist": 10}), notes, rate_hz=30.0, stale_s=1.5, frozen_s=5.0)
    env.reset()
    began = time.perf_counter()
    times = [env.observe().frame_times_s for _ in range(60)]
    assert time.perf_counter() - began == pytest.approx(2, abs=2)  # at the slow camera's rate it would be 6
    wrist = [told["wrist"] for told in times]
    assert 12 <= len(set(wrist)) <= 45
    assert np.all(np.diff(wrist) >= 0)
    ages = env.statistics().frame_age_mean_s
    assert ages["wrist"] < 0.4 and ages["front"] < 0.3
    env.close()
    assert notes == []


def test_a_gap_that_is_over_soon_ends_the_episode_but_needs_no_reconnection(scenes: dict[int | str, Scene]) -> None:
    scene, notes = scenes.setdefault(0, Scene(fps=40)), list[str]()
    env = opened(Arm({"front": 40}), notes, stale_s=0.6, frozen_s=5.0)
    env.reset()
    scene.hangs_in_read = True
    with pytest.raises(CameraError, match=r"max_frame_age_s allows 600 ms|it stands still"):
        for _ in range(40):
            env.observe()
    scene.hangs_in_read = False
    scene.hang.set()
    time.sleep(0.1)
    env.reset()
    assert env.observe().frames["front"].shape == (24, 32, 3)
    assert scene.opened == 1, "opened anew"
    assert all("delivers again" in note for note in notes)
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
