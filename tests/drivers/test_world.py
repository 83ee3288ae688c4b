"""The virtual world: starts, repeatability, disturbances, pictures, snapshots."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from svm_robot.drivers.joints import JOINT_LIMITS, JOINTS, RANGES_RAD
from svm_robot.drivers.virtual.disturbance import Disturbance
from svm_robot.drivers.virtual.tasks import CUBE_HALF, TASKS, find_task
from svm_robot.drivers.virtual.world import World
from svm_robot.errors import ConfigError, DataError, DeviceError, UnsafeActionError

ALL_ON = Disturbance(slip=5.0, delay_s=0.07, joint_noise_deg=0.5, pixel_noise=3.0, backlash_deg=1.0)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def drive(world: World, seed: int, steps: int = 15, pictures: bool = False) -> list[NDArray[np.float64]]:
    """Random targets near the present ones; returns what was read."""
    rng = np.random.default_rng(seed)
    read = []
    for _ in range(steps):
        world.command(world.read_joints() + rng.uniform(-10, 10, 6))
        world.advance(0.1)
        read.append(np.concatenate([world.data.qpos, world.read_joints()]))
        if pictures:
            read.append(world.render("front").ravel().astype(np.float64))
    return read


def test_same_seed_same_start_and_other_seed_other_start(world: World) -> None:
    world.reset(5)
    first, look = world.privileged(), world.appearance.look
    world.reset(6)
    assert world.privileged() != first
    assert world.appearance.look != look
    world.reset(5)
    assert (world.privileged(), world.appearance.look) == (first, look)


def test_resets_without_a_seed_differ_but_repeat_with_the_seed_of_the_world(world: World) -> None:
    other = World(seed=0)
    again = World(seed=0)
    starts = []
    for one in (other, again):
        one.reset()
        starts.append(one.privileged())
        one.reset()
        starts.append(one.privileged())
    assert starts[0] != starts[1]
    assert starts[:2] == starts[2:]


@pytest.mark.parametrize("task", list(TASKS))
def test_starts_lie_where_the_task_says_and_are_not_yet_done(task: str) -> None:
    world = World(task)
    for seed in range(40):
        world.reset(seed)
        truth = world.privileged()
        for cube in world.task.cubes:
            position = np.array(truth["cubes"][cube.name]["position"])
            assert np.all(np.abs(position[:2] - cube.centre) <= np.array(cube.half) + 1e-9)
            assert position[2] == pytest.approx(CUBE_HALF)
            assert abs(truth["cubes"][cube.name]["yaw"]) <= 0.5 + 1e-9
        assert not world.succeeded()
        assert np.all((world.read_joints_rad() > RANGES_RAD[:, 0]) & (world.read_joints_rad() < RANGES_RAD[:, 1]))


@pytest.mark.parametrize("disturbance", [Disturbance(), ALL_ON])
def test_same_seed_and_commands_give_identical_worlds(disturbance: Disturbance) -> None:
    one, two = World(disturbance=disturbance), World(disturbance=disturbance, seed=9)
    for world in (one, two):
        world.reset(3)
    np.testing.assert_array_equal(drive(one, 0), drive(two, 0))


def test_a_resting_cube_stays_and_the_arm_holds_its_pose(world: World) -> None:
    world.reset(1)
    before, start = world.privileged()["cubes"]["red_cube"]["position"], world.read_joints()
    world.advance(2.0)
    np.testing.assert_allclose(world.privileged()["cubes"]["red_cube"]["position"], before, atol=5e-4)
    np.testing.assert_allclose(world.read_joints(), start, atol=0.3)


def test_joints_go_where_they_are_sent(world: World) -> None:
    world.reset(1)
    target = np.array([10, -20, 15, 30, -40, 80], np.float32)
    world.command(target)
    world.advance(2.0)
    np.testing.assert_allclose(world.read_joints(), target, atol=0.5)


def test_a_target_beyond_the_range_stops_at_its_end(world: World) -> None:
    world.reset(1)
    world.command(np.array([0, 0, 0, 0, 500, 50]))
    world.advance(3.0)
    assert world.read_joints()[4] == pytest.approx(JOINT_LIMITS["wrist_roll.pos"][1], abs=1.0)


@pytest.mark.parametrize("bad", [np.full(6, np.nan), np.zeros(5), np.array([0, 0, np.inf, 0, 0, 0])])
def test_targets_that_are_no_targets_are_refused_and_nothing_moves(world: World, bad: NDArray[np.float64]) -> None:
    world.reset(1)
    held = world.data.ctrl.copy()
    with pytest.raises(UnsafeActionError, match="nothing was sent"):
        world.command_rad(bad)
    np.testing.assert_array_equal(world.data.ctrl, held)


def test_a_limp_arm_falls_and_a_limp_joint_leaves_the_others_standing(world: World) -> None:
    world.reset(1)
    start = world.read_joints()
    world.torque([True, True, False, True, True, True])
    world.advance(1.0)
    moved = np.abs(world.read_joints() - start)
    assert moved[2] > 10
    assert np.all(moved[[0, 4, 5]] < 1)
    world.torque(True)
    world.advance(1.0)
    np.testing.assert_allclose(world.read_joints(), start, atol=0.5)
    world.torque(False)
    world.advance(2.0)
    assert world.privileged()["grip"][2] < 0.05
    np.testing.assert_array_equal(world.load(), 0)


def test_load_tells_a_blocked_joint(world: World) -> None:
    world.reset(1)
    world.advance(0.5)
    assert np.all(np.abs(world.load()) < 0.2)
    world.command_rad(np.array([0, 1.7, 0.2, 0.0, 0, 0.0]))  # jaws against the table
    world.advance(2.0)
    assert np.max(np.abs(world.load())) > 0.5
    assert np.max(np.abs(world.load())) <= 1


def test_time_is_what_was_asked_for_at_any_rate(world: World) -> None:
    world.reset(0)
    for _ in range(30):
        world.advance(1 / 30)
    assert world.time_s == pytest.approx(1.0)
    assert world.data.time == pytest.approx(1.0, abs=0.0026)


def test_physics_gone_wild_is_an_error_and_a_reset_mends_it(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its log into the working directory
    world.reset(0)
    world.advance(0.5)
    world.data.qvel[0] = np.nan
    with pytest.raises(DeviceError, match="unstable"):
        world.advance(0.1)
    world.reset(0)
    world.advance(0.5)
    assert world.time_s == 0.5


def test_a_snapshot_brings_back_the_same_future() -> None:
    world = World(disturbance=ALL_ON)
    world.reset(4)
    drive(world, 1, steps=5)
    world.command(world.read_joints() + 5)  # one command is still on its way
    world.torque([True] * 5 + [False])
    snapshot = json.loads(json.dumps(world.snapshot()))
    first = drive(world, 2, pictures=True)
    next_start = start_after(world)
    world.restore(snapshot)
    second = drive(world, 2, pictures=True)
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, two)
    assert start_after(world) == next_start
    other = World(disturbance=ALL_ON, seed=7)
    other.restore(snapshot)
    for one, two in zip(first, drive(other, 2, pictures=True), strict=True):
        np.testing.assert_array_equal(one, two)
    world.close()
    other.close()


def start_after(world: World) -> object:
    world.reset()
    return world.privileged()


def test_a_snapshot_of_another_world_is_refused_and_changes_nothing(world: World) -> None:
    world.reset(2)
    before = world.snapshot()
    for wrong in (World("two").snapshot(), {}, {**before, "version": 99}):
        with pytest.raises(DataError, match="does not fit"):
            world.restore(wrong)
        assert world.snapshot() == before


def test_pictures_have_the_size_of_their_camera_and_follow_the_light(world: World) -> None:
    world.reset(2)
    front = world.render("front")
    assert (front.shape, front.dtype) == ((64, 64, 3), np.uint8)
    assert world.render("wrist", (48, 32)).shape == (48, 32, 3)
    np.testing.assert_array_equal(world.render("front"), front)
    world.appearance.draw(np.random.default_rng(0))
    assert np.abs(world.render("front").astype(int) - front).max() > 3


def test_the_cube_and_the_disc_are_seen(world: World) -> None:
    """Red and blue pixels in the front picture, and they move when the scene moves."""
    masks = []
    for seed in (0, 1):
        world.reset(seed)
        red, green, blue = np.moveaxis(world.render("front").astype(int), -1, 0)
        masks.append((red > 1.8 * blue) & (red > 1.8 * green) & (blue > 0.8 * green))
        assert masks[-1].sum() >= 15
        assert ((blue > 1.6 * red) & (blue > 100)).sum() >= 60
    assert (masks[0] != masks[1]).sum() > 15


def test_a_picture_for_people_has_shadows_and_its_own_size(world: World) -> None:
    assert world.film((120, 160)).shape == (120, 160, 3)


def test_close_twice_and_draw_again() -> None:
    world = World()
    first = world.render("front")
    world.close()
    world.close()
    np.testing.assert_array_equal(world.render("front"), first)
    world.close()


def test_unknown_names_are_refused_with_the_known_ones(world: World) -> None:
    with pytest.raises(ConfigError, match="place, lift, two"):
        find_task("plaice")
    for ask in (lambda: World(cameras={"top": (64, 64)}), lambda: world.render("top")):
        with pytest.raises(ConfigError, match="front, wrist"):
            ask()
    with pytest.raises(DeviceError, match="too large"):
        world.render("front", (5000, 5000))


def test_the_joints_are_those_of_the_rig(world: World) -> None:
    assert world.joints == JOINTS
    assert world.read_joints().dtype == np.float32
