"""What a session over the wire tells of its bus when it ends."""

from pathlib import Path

import pytest

from svm_robot.drivers.rig import RigConfig
from svm_robot.drivers.rig_env import RigEnv
from svm_robot.drivers.virtual.wire_faults import WireFaults
from svm_robot.errors import DeviceError
from svm_robot.scripts.cell import open_cell
from svm_robot.scripts.cli import parse

RIG = Path(__file__).resolve().parents[2] / "rigs" / "virtual_so101_wire.yaml"
PATIENT = ["--bus.reply_timeout_s=0.3", "--bus.deadline_s=1.5", "--bus.max_joint_age_s=5", "--max_frame_age_s=10"]


def rig() -> RigConfig:
    return parse(RigConfig, PATIENT, rig=str(RIG))


def test_glitches_are_absorbed_and_told_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with open_cell(rig()) as cell:
        assert isinstance(cell.env, RigEnv)
        cell.env.reset(0)
        cell.env.observe(frames=False)
        cell.env.robot.cell.faults(WireFaults(corrupt=[3, 9, 16], lose=[20]))
        for _ in range(5):
            cell.env.apply(cell.env.observe(frames=False).state)
        assert "bus:" not in capsys.readouterr().err
    told = capsys.readouterr().err
    assert "note: timing: " in told
    assert "note: bus: elbow_flex on /dev/pts/" in told and "crc " in told


def test_a_dead_motor_ends_the_session_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    config = parse(RigConfig, [*PATIENT, "--bus.max_losses=1", "--bus.retries=0"], rig=str(RIG))
    with (
        pytest.raises(DeviceError, match=r"no answer from wrist_flex \(id 4\) on /dev/pts/\d+"),
        open_cell(config) as cell,
    ):
        assert isinstance(cell.env, RigEnv)
        cell.env.reset(0)
        cell.env.observe(frames=False)
        cell.env.robot.cell.faults(WireFaults(dead=[4]))
        cell.env.observe(frames=False)
    assert "wrist_flex" in capsys.readouterr().err  # its torque could not be switched off
