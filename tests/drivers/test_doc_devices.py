"""docs/adding-a-device.md is executed: its devices in a rig file, in our verbs and in LeRobot's own loops."""

import re
from collections.abc import Iterator
from pathlib import Path

import doc_devices
import numpy as np
import pytest
from lerobot.robots import make_robot_from_config

from svm_robot.drivers.lerobot_devices import OURS
from svm_robot.drivers.rig import RigConfig
from svm_robot.scripts.cell import open_cell
from svm_robot.scripts.cli import parse
from svm_robot.scripts.main import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def head() -> Iterator[doc_devices.Head]:
    for name in ("chart", "pantilt"):
        doc_devices.device(name)
    made = doc_devices.Head()
    yield made
    made.close()


@pytest.fixture
def rig(head: doc_devices.Head, tmp_path: Path) -> Path:
    path = tmp_path / "pantilt.yaml"
    text = doc_devices.example("pantilt.yaml").replace("/dev/ttyUSB0", head.port)
    path.write_text(text + f"max_frame_age_s: 1.0\ndataset_root: {tmp_path / 'data'}\n")
    return path


def test_the_rig_file_of_the_page_opens_and_moves_within_its_limits(rig: Path, head: doc_devices.Head) -> None:
    with open_cell(parse(RigConfig, [], rig=str(rig))) as cell:
        env = cell.env
        assert (env.spec.joints, env.spec.cameras) == (("pan.pos", "tilt.pos"), {"front": (24, 32)})
        env.reset(0)
        for _ in range(8):
            seen = env.observe()
            env.apply(seen.state + np.float32(50))
        assert env.observe().state.tolist() == [72.0, 40.0], "9 degrees a tick, and not beyond the limits"
        assert head.holds
    assert not head.holds, "let go at the end"


def test_the_doctor_looks_at_it(rig: Path, head: doc_devices.Head, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(rig), "--thumbnails="]) == 0
    told = capsys.readouterr().out
    assert f"{head.port} is there and may be opened" in told and "asked for 32x24 at 30/s, 32x24 at" in told
    assert "the motors of pantilt are on no bus that can be looked into" in told
    assert not head.holds


def test_a_head_that_does_not_answer_is_one_line(
    rig: Path, head: doc_devices.Head, capsys: pytest.CaptureFixture[str]
) -> None:
    head.dumb = True
    assert main(["teleop", str(rig), "--by=leader"]) == 5
    told = capsys.readouterr().err.strip().splitlines()
    assert told[-1].endswith(f"the pan-tilt head on {head.port} does not answer; check cable and power")


def test_lerobots_factory_and_loop_drive_it(rig: Path, head: doc_devices.Head) -> None:
    from lerobot.processor import make_default_processors
    from lerobot.scripts.lerobot_teleoperate import teleop_loop

    config = parse(RigConfig, [], rig=str(rig)).robot
    robot = make_robot_from_config(config)
    robot.connect()

    class Leader:
        def get_action(self) -> dict[str, float]:
            return {"pan.pos": 12.0, "tilt.pos": -7.0}

    steps = dict(
        zip(("teleop_action_processor", "robot_action_processor", "robot_observation_processor"),
            make_default_processors(), strict=True)
    )  # fmt: skip
    try:
        teleop_loop(teleop=Leader(), robot=robot, fps=30, duration=0.2, **steps)
        assert head.angles == [12.0, -7.0]
    finally:
        robot.disconnect()
        robot.disconnect()


def test_the_page_names_the_table_and_suites_that_there_are() -> None:
    page = doc_devices.PAGE.read_text(encoding="utf-8")
    assert "svm_robot.drivers.cameras.config_video_file" in OURS and "`OURS`" in page
    for suite in re.findall(r"`(tests/contracts/\w+\.py)`", page):
        assert (ROOT / suite).is_file()
    assert "ENVS" in (ROOT / "tests/contracts/test_env_contract.py").read_text()
