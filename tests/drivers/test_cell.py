"""The virtual robot in its own process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from svm_robot.drivers.virtual.cell import VirtualCell
from svm_robot.drivers.virtual.cell_options import CellOptions
from svm_robot.drivers.virtual.disturbance import Disturbance
from svm_robot.drivers.virtual.frames import SLOTS, Frame, FrameReader, FrameWriter
from svm_robot.drivers.virtual.pace import RealTimePace
from svm_robot.drivers.virtual.wire_faults import WireFaults
from svm_robot.errors import ConfigError, DeviceError


@pytest.fixture(scope="module")
def _cell() -> Iterator[VirtualCell]:
    made = VirtualCell(CellOptions(sizes={"front": (48, 80)}, rates={"front": 50.0}))
    made.open()
    yield made
    made.close()


@pytest.fixture
def cell(_cell: VirtualCell) -> VirtualCell:
    return _cell


def test_frames_come_with_size_time_and_number(cell: VirtualCell) -> None:
    first = newest(cell, "front")
    assert first.pixels.shape == (48, 80, 3)
    assert first.pixels.std() > 5
    time.sleep(0.3)
    later = newest(cell, "front")
    assert later.number >= first.number + 3
    assert first.time_s < later.time_s <= time.perf_counter()
    assert time.perf_counter() - later.time_s < 0.2


def newest(cell: VirtualCell, role: str) -> Frame:
    assert cell.folder is not None
    reader = FrameReader(cell.folder / role)
    frame = reader.latest()
    reader.close()
    assert frame is not None, "open() returned before the first picture"
    return frame


def test_the_same_seed_is_the_same_scene(cell: VirtualCell) -> None:
    scenes = []
    for seed in (3, 4, 3):
        cell.reset(seed)
        scenes.append(np.array(cell.privileged()["cubes"]["red_cube"]["position"][:2]))
    np.testing.assert_allclose(scenes[0], scenes[2], atol=1e-3)
    assert np.abs(scenes[0] - scenes[1]).max() > 1e-3
    assert not cell.succeeded()


def test_status_and_faults(cell: VirtualCell) -> None:
    status = cell.status()
    assert 0 <= status["lost_s"] < status["running_s"]
    assert status["torque"] == [False] * 6
    with pytest.raises(DeviceError, match=r"no servo 9 on this bus"):
        cell.faults(WireFaults(dead=(9,)))
    cell.faults(WireFaults(errors={3: 32}))
    cell.faults(WireFaults())


def test_a_closed_cell_says_so() -> None:
    cell = VirtualCell(CellOptions())
    cell.close()
    for ask in (cell.status, cell.succeeded):
        with pytest.raises(DeviceError, match="closed"):
            ask()


def test_the_child_tells_why_it_cannot_start() -> None:
    cell = VirtualCell(CellOptions(task="juggle"))
    with pytest.raises(DeviceError, match="juggle"):
        cell.open()
    assert (cell.port, cell.folder) == ("", None)


def test_a_child_that_died_is_told_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svm_robot.drivers.virtual.cell.SERVER", "svm_robot.no_such_module")
    cell = VirtualCell(CellOptions())
    with pytest.raises(DeviceError, match=r"has ended: .*no_such_module"):
        cell.open()


def test_killed_in_between_and_closed_twice() -> None:
    cell = VirtualCell(CellOptions(sizes={}, rates={}))
    cell.open()
    cell.open()
    folder = cell.folder
    assert cell._process is not None
    assert folder is not None
    cell._process.kill()
    with pytest.raises(DeviceError, match="has ended"):
        cell.status()
    cell.close()
    cell.close()
    assert not folder.exists()


ORPHAN = """
import time
from svm_robot.drivers.virtual.cell import VirtualCell
from svm_robot.drivers.virtual.cell_options import CellOptions
cell = VirtualCell(CellOptions(sizes={}, rates={}))
cell.open()
print(cell._process.pid, cell.folder, flush=True)
time.sleep(60)
"""


def test_the_child_dies_with_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child, folder = parent.stdout.readline().split()
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while Path(folder).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(folder).exists()
    deadline = time.monotonic() + 5
    while alive(int(child)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(int(child))


def alive(process: int) -> bool:
    """True while a process runs (one that ended and was not yet collected does not)."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_options_survive_the_way_to_the_child() -> None:
    options = CellOptions("lift", Disturbance(slip=0.5), {"wrist": (10, 20)}, {"wrist": 15.0}, seed=4, wire_time=True)
    assert CellOptions.from_json(options.to_json()) == options


@pytest.mark.parametrize("rate", [0.0, -1.0, 1e9, float("nan")])
def test_camera_rates_that_no_camera_has(rate: float) -> None:
    with pytest.raises(ConfigError, match="pictures per second"):
        CellOptions(rates={"front": rate, "wrist": 30.0})


def test_the_ring_hands_out_whole_newest_frames(tmp_path: Path) -> None:
    writer = FrameWriter(tmp_path / "front", (3, 5))
    reader = FrameReader(tmp_path / "front")
    assert reader.latest() is None
    for number in range(1, 2 * SLOTS + 2):
        writer.put(np.full((3, 5, 3), number, np.uint8), number / 10)
        frame = reader.latest()
        assert frame is not None
        assert (frame.number, frame.time_s) == (number, number / 10)
        assert np.all(frame.pixels == number)
        frame.pixels[:] = 0  # the reader's own copy
    with pytest.raises(ValueError, match="does not fit"):
        writer.put(np.zeros((5, 3, 3), np.uint8), 0.0)
    reader.close()
    writer.close()


def test_what_is_no_ring_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="no virtual camera at"):
        FrameReader(tmp_path / "front")
    (tmp_path / "front").write_bytes(b"x" * 100)
    with pytest.raises(DeviceError, match="no virtual camera of this version"):
        FrameReader(tmp_path / "front")


def test_real_time_is_kept_and_lost_time_is_told() -> None:
    pace = RealTimePace(0.005, 0.1)
    pace.start(10.0)
    assert pace.due(10.0) == 0
    assert pace.due(10.0099) == 1
    assert pace.next_s() == pytest.approx(10.01)
    assert pace.due(10.05) == 9
    assert pace.lost_s == 0
    assert pace.due(10.05 + 1.1) == 20, "a second lost is not made up in a burst"
    assert pace.lost_s == pytest.approx(1.0)
    assert pace.due(10.05 + 1.15) == 10
