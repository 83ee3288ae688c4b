"""What makes the virtual world less than perfect (slip: see test_expert.py)."""

import numpy as np
import pytest

from svm_robot.drivers.virtual.disturbance import Disturbance
from svm_robot.drivers.virtual.world import World
from svm_robot.errors import ConfigError


def test_delay_holds_a_command_back() -> None:
    world = World(disturbance=Disturbance(delay_s=0.3))
    world.reset(1)
    start = world.read_joints()
    world.command(start + 20)
    world.advance(0.29)
    np.testing.assert_allclose(world.read_joints(), start, atol=0.3)
    world.advance(1.5)
    np.testing.assert_allclose(world.read_joints(), start + 20, atol=0.6)


def test_noise_is_on_the_readings_only() -> None:
    world = World(disturbance=Disturbance(joint_noise_deg=1.0))
    world.reset(1)
    before = world.data.qpos.copy()
    readings = np.stack([world.read_joints() for _ in range(400)])
    np.testing.assert_array_equal(world.data.qpos, before)
    np.testing.assert_allclose(readings.std(axis=0), 1.0, rtol=0.2)


def test_backlash_swallows_a_small_turn_back() -> None:
    world = World(disturbance=Disturbance(backlash_deg=4.0))
    world.reset(1)
    start = world.read_joints()
    positions = []
    for offset in (20.0, 17.0, 10.0):
        world.command(start + np.array([offset, 0, 0, 0, 0, 0]))
        world.advance(2.0)
        positions.append(float(world.read_joints()[0] - start[0]))
    np.testing.assert_allclose(positions, (18, 18, 12), atol=0.4)


def test_pixel_noise_changes_pictures_by_about_that_much() -> None:
    world = World(disturbance=Disturbance(pixel_noise=4.0))
    a, b = world.render("front").astype(float), world.render("front").astype(float)
    assert np.std(a - b) == pytest.approx(4 * np.sqrt(2), rel=0.2)
    world.close()


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_disturbance_must_be_a_number_from_zero_up(value: float) -> None:
    with pytest.raises(ConfigError, match=r"disturbance\.delay_s"):
        Disturbance(delay_s=value)
