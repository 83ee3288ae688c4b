"""The doctor on cameras that are ill in a scripted way, over the virtual robot's own process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
from svm_robot.drivers.doctor.check_ports import PortLook
from svm_robot.drivers.doctor.examine import Tools, examine, is_fine
from svm_robot.drivers.doctor.finding import Finding, Level
from svm_robot.drivers.doctor.virtual import real_config
from svm_robot.drivers.rig import RigConfig
from svm_robot.drivers.virtual.camera_faults import CameraFaults
from svm_robot.drivers.virtual.cell import VirtualCell

TOOLS: dict[str, Any] = {"look": PortLook(ports=list), "reads": 20, "seconds": 1.6}


@pytest.fixture(scope="module")
def cell() -> Iterator[VirtualCell]:
    made = VirtualCell(VirtualSO101Config().cell_options())
    made.open()
    yield made
    made.close()


@pytest.fixture
def rig(cell: VirtualCell, tmp_path: Path) -> Iterator[RigConfig]:
    yield RigConfig(
        robot=real_config(cell, VirtualSO101Config()), max_frame_age_s=0.6, dataset_root=str(tmp_path), rate_hz=10.0
    )
    cell.camera_faults(CameraFaults())


def of_cameras(rig: RigConfig, **more: Any) -> list[Finding]:
    return [finding for finding in examine(rig, Tools(**{**TOOLS, **more})) if finding.camera]


def test_modes_pictures_and_rates_of_sound_cameras(rig: RigConfig) -> None:
    pictures: dict[str, Any] = {}

    def keep(role: str, picture: Any) -> str:
        pictures[role] = picture
        return f"{role}.jpg"

    found = of_cameras(rig, keep=keep)
    assert is_fine([f for f in found if f.check == "camera"]), found
    front = next(f for f in found if f.camera == "front" and f.check == "camera")
    assert "asked for 64x64 at 30/s, 64x64 at" in front.what and front.values["thumbnail"] == "front.jpg"
    assert {role: picture.shape for role, picture in pictures.items()} == dict.fromkeys(("front", "wrist"), (64, 64, 3))
    assert np.std(pictures["front"]) > 5
    rates = next(f for f in found if f.camera == "wrist" and f.check == "rates")
    assert 5 < rates.values["new_per_s"] < 15 and rates.values["worst_age_ms"] < 600


@pytest.mark.parametrize(
    ("faults", "says"),
    [
        (CameraFaults(frozen=("front",)), "frozen"),
        (CameraFaults(black=("front",)), "black"),
        (CameraFaults(stalled=("front",)), "no new picture comes"),
        (CameraFaults(vanished=("front",)), "front"),
        (CameraFaults(slow={"front": 1.5}), "too slow for max_frame_age_s"),
    ],
)
def test_a_faulty_camera_is_named_and_the_other_one_is_still_examined(
    faults: CameraFaults, says: str, rig: RigConfig, cell: VirtualCell
) -> None:
    cell.camera_faults(faults)
    found = of_cameras(rig)
    bad = [f for f in found if f.level is Level.PROBLEM]
    assert bad and {f.camera for f in bad} == {"front"}
    assert says in bad[0].what and bad[0].cause and bad[0].next
    assert [f for f in found if f.camera == "wrist" and f.level is Level.OK]


def test_a_slow_camera_that_is_fast_enough_is_a_note(rig: RigConfig, cell: VirtualCell) -> None:
    cell.camera_faults(CameraFaults(slow={"wrist": 12}))
    told = [f for f in of_cameras(rig) if f.level is Level.NOTE]
    assert [f.camera for f in told] == ["wrist"] and "slower than asked for" in told[0].what
