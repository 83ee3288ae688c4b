"""Which robot this is, as far as its devices tell; LeRobot's own classes say it."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from lerobot.cameras.configs import ColorMode, Cv2Rotation
from lerobot.cameras.opencv import OpenCVCameraConfig
from lerobot.motors import Motor, MotorCalibration, MotorNormMode

from svm_robot.drivers.config_virtual_camera import VirtualCameraConfig
from svm_robot.drivers.identity import calibration_hash, camera_identities, camera_identity, joint_units, robot_id


def robot(**parts):
    return SimpleNamespace(**parts)


def ends(low=0, high=4095):
    return MotorCalibration(id=1, drive_mode=0, homing_offset=0, range_min=low, range_max=high)


def test_units_come_from_the_mode_of_each_motor():
    modes = {"a": MotorNormMode.DEGREES, "b": MotorNormMode.RANGE_M100_100, "grip": MotorNormMode.RANGE_0_100}
    bus = robot(motors={name: Motor(1, "sts3215", mode) for name, mode in modes.items()})
    assert joint_units(robot(bus=bus), ("b.pos", "a.pos", "grip.pos", "tail.pos")) == ("±%", "deg", "%", "")
    assert joint_units(robot(), ("a.pos",)) == ("",)


def test_units_of_an_so101_follow_its_configuration(tmp_path):
    from lerobot.robots.so_follower import SO101Follower, SO101FollowerConfig

    for degrees, unit in ((True, "deg"), (False, "±%")):
        config = SO101FollowerConfig(port="nowhere", id="x", calibration_dir=tmp_path, use_degrees=degrees)
        follower = SO101Follower(config)
        joints = tuple(follower.action_features)
        assert joint_units(follower, joints) == (unit,) * 5 + ("%",)
        assert robot_id(follower) == "x"


def test_the_hash_stands_for_all_of_the_calibration_and_nothing_else():
    both = {"a": ends(), "b": ends(high=3000)}
    first = calibration_hash(robot(bus=robot(calibration=both)))
    assert len(first) == 16
    assert int(first, 16) >= 0
    assert calibration_hash(robot(bus=robot(calibration=dict(reversed(both.items()))))) == first
    assert calibration_hash(robot(calibration=both)) == first
    assert calibration_hash(robot(bus=robot(calibration={**both, "b": ends(high=3001)}))) != first
    assert calibration_hash(robot()) == calibration_hash(robot(bus=robot(calibration={}))) == ""


@pytest.mark.parametrize(
    ("config", "identity"),
    [
        (OpenCVCameraConfig(2), "opencv 2"),
        (OpenCVCameraConfig(Path("/dev/v4l/by-id/usb-x")), "opencv /dev/v4l/by-id/usb-x"),
        (OpenCVCameraConfig(0, rotation=Cv2Rotation.ROTATE_180), "opencv 0 turned 180"),
        (OpenCVCameraConfig(0, color_mode=ColorMode.BGR), "opencv 0 bgr"),
        (VirtualCameraConfig(role="wrist", cell="/tmp/somewhere"), "virtual wrist"),
        (SimpleNamespace(type="intelrealsense", serial_number_or_name="0123"), "intelrealsense 0123"),
        (SimpleNamespace(type="zmq", server_address="pi", port=5555, camera_name="c"), "zmq pi 5555 c"),
        (SimpleNamespace(type="odd"), ""),
        (None, ""),
    ],
)
def test_a_camera_is_what_its_configuration_binds_to(config, identity):
    assert camera_identity(config) == identity


def test_only_cameras_that_say_who_they_are_are_named():
    cameras = {"front": robot(config=OpenCVCameraConfig(2)), "top": robot()}
    assert camera_identities(robot(cameras=cameras)) == {"front": "opencv 2"}
    assert camera_identities(robot()) == {}


def test_a_robot_without_a_name_has_none():
    assert robot_id(robot(id=None)) == robot_id(robot()) == ""


def test_the_virtual_robot_tells_the_same_in_lockstep_as_its_motors_would():
    from svm_robot.drivers.virtual.lockstep import LockstepEnv
    from svm_robot.drivers.virtual.world import World

    env = LockstepEnv(World())
    try:
        assert env.spec.units == ("deg",) * 5 + ("%",)
        assert env.spec.camera_identities == {"front": "virtual front", "wrist": "virtual wrist"}
    finally:
        env.close()
