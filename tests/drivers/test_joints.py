"""Units of the arm: radians, robot units, servo ticks."""

import numpy as np
import pytest

from svm_robot.drivers import joints


def test_the_middle_is_zero_degrees_and_the_gripper_goes_from_0_to_100() -> None:
    units = joints.to_units(joints.MIDDLES_RAD)
    np.testing.assert_allclose(units, [0, 0, 0, 0, 0, 50], atol=1e-5)
    lower, upper = joints.to_units(joints.RANGES_RAD.T)
    assert (lower[-1], upper[-1]) == pytest.approx((0, 100))
    assert upper[0] == pytest.approx(np.degrees(1.92), abs=1e-4)


def test_round_trips() -> None:
    rng = np.random.default_rng(0)
    radians = rng.uniform(*joints.RANGES_RAD.T, (50, 6))
    np.testing.assert_allclose(joints.to_radians(joints.to_units(radians)), radians, atol=1e-6)
    tick = 2 * np.pi / 4096
    np.testing.assert_allclose(joints.from_ticks(joints.to_ticks(radians)), radians, atol=tick / 2 + 1e-9)


def test_ticks_read_through_the_calibration_of_lerobot_give_the_same_units() -> None:
    """LeRobot: degrees = (tick - middle of range) * 360 / 4095 or so; range mode for the gripper."""
    radians = np.array([0.3, -0.7, 0.5, -1.1, 2.0, 0.35])
    ticks, units = joints.to_ticks(radians), joints.to_units(radians)
    lowest, highest = joints.to_ticks(joints.RANGES_RAD.T)
    degrees = (ticks - (lowest + highest) / 2) * 360 / 4095
    percent = (ticks - lowest) / (highest - lowest) * 100
    np.testing.assert_allclose(degrees[:5], units[:5], atol=0.1)
    assert percent[5] == pytest.approx(units[5], abs=0.1)


def test_limits_cover_every_joint_in_order() -> None:
    assert tuple(joints.JOINT_LIMITS) == joints.JOINTS
    assert all(low < high for low, high in joints.JOINT_LIMITS.values())
