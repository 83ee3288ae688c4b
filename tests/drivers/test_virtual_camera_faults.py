"""Cameras of the virtual robot that go wrong on demand, behind their guards, in real time."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_cameras import eventually

from svm_robot.drivers.cameras.faults import (
    BlankCameraError,
    CameraError,
    FrozenCameraError,
    StaleCameraError,
    VanishedCameraError,
)
from svm_robot.drivers.cameras.group import CameraGroup
from svm_robot.drivers.cameras.guard import GuardedCamera
from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.drivers.cameras.measure import measure
from svm_robot.drivers.clock import MonotonicClock
from svm_robot.drivers.config_virtual_camera import VirtualCameraConfig
from svm_robot.drivers.rig import RigConfig
from svm_robot.drivers.virtual.camera_faults import CameraFaults
from svm_robot.drivers.virtual.cell import VirtualCell
from svm_robot.drivers.virtual.cell_options import CellOptions
from svm_robot.drivers.virtual_camera import VirtualCamera
from svm_robot.errors import DeviceError
from svm_robot.scripts.cell import open_cell
from svm_robot.scripts.cli import parse

FPS = 30.0
LIMIT_S = 0.5
WIRE = str(Path(__file__).resolve().parents[2] / "rigs/virtual_so101_wire.yaml")


@pytest.fixture(scope="module")
def cell() -> Iterator[VirtualCell]:
    made = VirtualCell(CellOptions(sizes={"front": (48, 64)}, rates={"front": FPS}))
    made.open()
    yield made
    made.close()


class Bench:
    """One guarded camera of the cell, read as the loop reads it."""

    def __init__(self, cell: VirtualCell) -> None:
        config = VirtualCameraConfig(cell=str(cell.folder), role="front", width=64, height=48, fps=int(FPS))
        limits = CameraLimits(frozen_after_s=LIMIT_S, blank_after_s=LIMIT_S, reconnect_wait_s=0.05)
        self.cell, self.notes = cell, list[str]()
        self.guard = GuardedCamera(VirtualCamera(config), "front", limits, MonotonicClock(), list)
        self.group = CameraGroup({"front": self.guard}, MonotonicClock(), self.notes.append)

    def fails(self, within_s: float = 8.0) -> CameraError:
        caught: list[CameraError] = []

        def tried() -> bool:
            try:
                self.guard.read_latest(max_age_ms=1500)
            except CameraError as error:
                caught.append(error)
            return bool(caught)

        assert eventually(tried, within_s), "no fault was seen"
        return caught[0]


@pytest.fixture
def bench(cell: VirtualCell) -> Iterator[Bench]:
    made = Bench(cell)
    made.guard.connect()
    yield made
    made.guard.disconnect()
    cell.camera_faults(CameraFaults())


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ({"frozen": ["front"]}, FrozenCameraError, "frozen: the same picture"),
        ({"black": ["front"]}, BlankCameraError, "black"),
        ({"stalled": ["front"]}, StaleCameraError, "stands still"),
        ({"slow": {"front": 0.5}}, StaleCameraError, "stands still"),
        ({"vanished": ["front"]}, VanishedCameraError, "has been unplugged"),
    ],
)
def test_each_fault_is_told_within_the_limit_and_forgotten_when_it_is_over(
    bench: Bench, fault: dict[str, Any], kind: type[CameraError], says: str
) -> None:
    bench.guard.async_read(timeout_ms=2000)
    bench.cell.camera_faults(CameraFaults(**fault))
    began = time.monotonic()
    error = bench.fails()
    assert type(error) is kind and says in str(error) and error.role == "front"
    assert time.monotonic() - began < LIMIT_S + 4
    bench.cell.camera_faults(CameraFaults())
    time.sleep(0.2)
    bench.group.recover()
    bench.guard.read_latest()
    assert bench.guard.fault is None
    assert "delivers again" in bench.notes[-1]


def test_a_still_scene_is_not_frozen(bench: Bench) -> None:
    give_up_s = time.monotonic() + 3 * LIMIT_S
    while time.monotonic() < give_up_s:
        bench.guard.read_latest(max_age_ms=5000)
        time.sleep(0.01)


def test_a_slow_camera_is_measured(bench: Bench) -> None:
    bench.cell.camera_faults(CameraFaults(slow={"front": 8.0}))
    time.sleep(0.3)
    fps = measure({"front": bench.guard.inner}, MonotonicClock(), 5)["front"].fps
    assert 4 < fps < 12


def test_a_camera_that_stays_away_ends_the_session(bench: Bench) -> None:
    bench.cell.camera_faults(CameraFaults(vanished=["front"]))
    bench.fails()
    with pytest.raises(DeviceError, match="no virtual camera at"):
        bench.group.recover()
    assert len(bench.notes) == 3


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        (CameraFaults(frozen=["side"]), "no camera side in this cell; its cameras are front"),
        (CameraFaults(slow={"front": 0.0}), "cannot give 0.0 pictures per second"),
    ],
)
def test_faults_of_no_camera(cell: VirtualCell, faults: CameraFaults, says: str) -> None:
    with pytest.raises(DeviceError, match=says):
        cell.camera_faults(faults)


def test_an_episode_ends_and_the_next_one_begins_with_all_cameras(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole way: rig file, guard, RigEnv; the arm is not moved on what a lost camera showed last."""
    rig = parse(RigConfig, ["--max_frame_age_s=1"], rig=WIRE)
    with open_cell(rig) as opened:
        assert isinstance(opened.truth, VirtualCell)
        assert opened.env.spec.camera_identities == {"front": "virtual front", "wrist": "virtual wrist"}
        opened.env.reset(0)
        opened.env.observe()
        opened.truth.camera_faults(CameraFaults(vanished=["wrist"]))
        with pytest.raises(VanishedCameraError, match="camera 'wrist'"):
            for _ in range(20):
                opened.env.observe()
        opened.truth.camera_faults(CameraFaults())
        opened.env.reset(1)
        assert opened.env.observe().frames["wrist"].shape == (64, 64, 3)
    told = capsys.readouterr().err
    assert "opening it again (1 of 3)" in told and "camera 'wrist'" in told and "delivers again" in told
