"""Limits below the seam: range, step, and what is refused."""

import numpy as np
import pytest

from svm_robot.drivers.joints import JOINT_LIMITS, JOINTS
from svm_robot.drivers.safety import Safety, SafetyConfig
from svm_robot.errors import ConfigError, UnsafeActionError

HOME = np.array([0, 0, 0, 0, 0, 50], np.float32)


def safety(rate_hz: float = 10.0, **options: object) -> Safety:
    return Safety(SafetyConfig(**options), JOINTS, JOINT_LIMITS, rate_hz)  # type: ignore[arg-type]


def test_a_small_step_passes_unchanged() -> None:
    applied = safety().limit(HOME + 5, HOME)
    assert not applied.clipped
    assert applied.sent.dtype == np.float32
    np.testing.assert_array_equal(applied.sent, HOME + 5)


def test_a_jump_is_cut_to_the_speed_limit_of_each_joint() -> None:
    applied = safety(max_speed=100, max_gripper_speed=200, max_speed_by_joint={"wrist_roll.pos": 30}).limit(
        HOME + np.array([90, -90, 5, 0, 90, 50]), HOME
    )
    assert applied.clipped
    np.testing.assert_allclose(applied.sent - HOME, (10, -10, 5, 0, 3, 20), atol=1e-5)


@pytest.mark.parametrize("rate_hz", [5.0, 10.0, 30.0])
def test_the_speed_limit_is_per_second_whatever_the_rate(rate_hz: float) -> None:
    limits, position = safety(rate_hz, max_speed=60), HOME
    for _ in range(int(rate_hz)):
        position = limits.limit(HOME + 80, position).sent
    np.testing.assert_allclose(position[:5] - HOME[:5], 60, atol=1e-3)


def test_targets_stay_inside_the_range() -> None:
    limits, position = safety(limits={"shoulder_pan.pos": [-20, 20]}), HOME
    for _ in range(60):
        position = limits.limit(np.full(6, 1e6), position).sent
    assert position[0] == pytest.approx(20)
    for value, joint in zip(position[1:], JOINTS[1:], strict=True):
        assert value == pytest.approx(JOINT_LIMITS[joint][1])


def test_a_joint_found_outside_its_range_walks_back_without_a_jump() -> None:
    outside = HOME + np.array([60, 0, 0, 0, 0, 0])
    applied = safety(max_speed=100, limits={"shoulder_pan.pos": [-20, 20]}).limit(outside, outside)
    assert applied.clipped
    assert applied.sent[0] == pytest.approx(50)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_name(bad: float) -> None:
    action = HOME.copy()
    action[2] = bad
    with pytest.raises(UnsafeActionError, match=r"elbow_flex\.pos"):
        safety().limit(action, HOME)
    with pytest.raises(UnsafeActionError, match=r"measured position.*elbow_flex\.pos"):
        safety().limit(HOME, action)


@pytest.mark.parametrize("wrong", [np.zeros(5), np.zeros((1, 6)), 3.0, ["a"] * 6, None])
def test_another_shape_is_refused(wrong: object) -> None:
    with pytest.raises(UnsafeActionError, match="nothing was sent"):
        safety().limit(wrong, HOME)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"limits": {"sholder.pos": [0, 1]}}, "sholder.pos"),
        ({"max_speed_by_joint": {"elbow": 3}}, "elbow"),
        ({"limits": {"gripper.pos": [60, 40]}}, "gripper.pos"),
        ({"limits": {"gripper.pos": [0, 50, 100]}}, r"\[lower, upper\]"),
        ({"limits": {"gripper.pos": [float("nan"), 50]}}, "gripper.pos"),
        ({"max_speed": 0}, "shoulder_pan.pos"),
        ({"max_gripper_speed": -1}, "gripper.pos"),
        ({"max_speed": float("nan")}, "shoulder_pan.pos"),
    ],
)
def test_a_wrong_configuration_is_refused(options: dict[str, object], names: str) -> None:
    with pytest.raises(ConfigError, match=names):
        safety(**options)


@pytest.mark.parametrize("rate_hz", [0.0, -10.0, float("nan")])
def test_a_rate_that_is_none_is_refused(rate_hz: float) -> None:
    with pytest.raises(ConfigError, match="rate_hz"):
        safety(rate_hz)


def test_a_robot_without_known_limits_still_has_a_speed_limit() -> None:
    applied = Safety(SafetyConfig(max_speed=10), ("a.pos", "b.pos"), {}, 10.0).limit([1e9, 0], [0, 0])
    np.testing.assert_allclose(applied.sent, (1, 0))
