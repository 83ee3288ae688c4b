"""The virtual SO-101 as LeRobot sees it: found by its plugin flag, built by its factory, driven by its driver."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from lerobot.configs import parser
from lerobot.robots import RobotConfig, make_robot_from_config

from svm_robot.drivers.config_virtual_camera import VirtualCameraConfig
from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
from svm_robot.drivers.identity import calibration_hash, camera_identities, joint_units
from svm_robot.drivers.joints import JOINT_UNITS, JOINTS
from svm_robot.drivers.virtual_camera import VirtualCamera
from svm_robot.drivers.virtual_so101 import VirtualSO101
from svm_robot.errors import ConfigError, DeviceError, StaleError


@pytest.fixture(scope="module")
def _robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VirtualSO101]:
    parser.load_plugin("svm_robot")
    config = RobotConfig.get_choice_class("virtual_so101")(
        id="x", calibration_dir=tmp_path_factory.mktemp("calibration")
    )
    robot = make_robot_from_config(config)
    assert isinstance(robot, VirtualSO101)
    robot.connect()
    yield robot
    robot.disconnect()


@pytest.fixture
def robot(_robot: VirtualSO101) -> VirtualSO101:
    return _robot


def test_features_are_known_before_connecting(tmp_path: Path) -> None:
    robot = make_robot_from_config(VirtualSO101Config(calibration_dir=tmp_path))
    assert set(robot.action_features) == set(JOINTS)
    assert robot.observation_features["wrist"] == (64, 64, 3)
    assert not robot.is_connected
    for use in (robot.get_observation, robot.disconnect, lambda: robot.send_action({})):
        with pytest.raises(ConnectionError, match="not connected"):
            use()


def test_lockstep_is_no_lerobot_robot(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"set robot\.link to wire"):
        VirtualSO101(VirtualSO101Config(link="lockstep", calibration_dir=tmp_path))


def test_connected_calibrated_and_observed(robot: VirtualSO101) -> None:
    assert robot.is_connected
    assert robot.is_calibrated
    seen = robot.get_observation()
    assert set(seen) == {*JOINTS, "front", "wrist"}
    assert seen["front"].shape == (64, 64, 3)
    with pytest.raises(ConnectionError, match="already connected"):
        robot.connect()


def test_it_tells_the_units_and_cameras_that_lockstep_tells(robot: VirtualSO101) -> None:
    assert joint_units(robot, JOINTS) == JOINT_UNITS
    assert camera_identities(robot) == {"front": "virtual front", "wrist": "virtual wrist"}
    assert calibration_hash(robot)


def test_a_joint_goes_where_it_is_sent(robot: VirtualSO101) -> None:
    start = {joint: float(robot.get_observation()[joint]) for joint in JOINTS}
    goal = {**start, "shoulder_pan.pos": start["shoulder_pan.pos"] + 10}
    assert robot.send_action(goal) == goal
    deadline = time.monotonic() + 5
    while abs(robot.get_observation()["shoulder_pan.pos"] - goal["shoulder_pan.pos"]) > 1.5:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_camera_reads(robot: VirtualSO101) -> None:
    camera = robot.cameras["front"]
    numbers = []
    for _ in range(3):
        camera.async_read(timeout_ms=2000)
        numbers.append(camera._returned)
    assert len(set(numbers)) == 3, "every asynchronous read is a new frame"
    assert camera.read().shape == (64, 64, 3)
    newest = camera.read_latest(max_age_ms=2000)
    assert newest.shape == (64, 64, 3)
    assert camera.latest_timestamp is not None
    assert 0 <= time.perf_counter() - camera.latest_timestamp < 2
    with pytest.raises(StaleError, match=r"virtual camera 'front': newest frame is .* ms old"):
        camera.read_latest(max_age_ms=-1)
    with pytest.raises(TimeoutError):
        camera.async_read(timeout_ms=-1000)


def test_a_camera_attaches_to_a_running_cell(robot: VirtualSO101) -> None:
    config = VirtualCameraConfig(cell=str(robot.cell.folder), role="wrist")
    with VirtualCamera(config) as camera:
        assert camera.read_latest(2000).shape == (64, 64, 3)
    assert not camera.is_connected
    with pytest.raises(ConnectionError, match="not connected"):
        camera.read()


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        (VirtualCameraConfig(), ConfigError, "needs cell and role"),
        (VirtualCameraConfig(cell="/nowhere", role="front"), DeviceError, "no virtual camera at /nowhere/front"),
    ],
)
def test_a_camera_without_a_cell(config: VirtualCameraConfig, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        VirtualCamera(config).connect()
    assert VirtualCamera.find_cameras() == []


def test_a_camera_of_another_size(robot: VirtualSO101) -> None:
    config = VirtualCameraConfig(cell=str(robot.cell.folder), role="wrist", width=640, height=480)
    with pytest.raises(ConfigError, match="64x64 pixels, the configuration says 640x480"):
        VirtualCamera(config).connect()


def test_lerobots_own_teleoperation_loop_drives_the_arm(robot: VirtualSO101, tmp_path: Path) -> None:
    """The loop of ``lerobot-teleoperate``, with a leader that stands still."""
    from lerobot.processor import make_default_processors
    from lerobot.scripts.lerobot_teleoperate import teleop_loop

    teleop_steps, robot_steps, observation_steps = make_default_processors()
    hold = {joint: float(robot.get_observation()[joint]) for joint in JOINTS}

    class Leader:
        def get_action(self) -> dict[str, float]:
            return dict(hold)

    teleop_loop(
        teleop=Leader(),
        robot=robot,
        fps=20,
        teleop_action_processor=teleop_steps,
        robot_action_processor=robot_steps,
        robot_observation_processor=observation_steps,
        duration=0.3,
    )
    after = np.array([robot.get_observation()[joint] for joint in JOINTS])
    np.testing.assert_allclose(after, list(hold.values()), atol=2.0)


def test_drivers_stay_light() -> None:
    """Neither torch nor LeRobot comes along with the package, its drivers or the virtual world."""
    code = (
        "import sys, svm_robot.drivers, svm_robot.drivers.virtual.cell, svm_robot.drivers.rig_env, "
        "svm_robot.drivers.terminal.operator; print([m for m in ('torch', 'lerobot', 'mujoco') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
