"""The scripted operator: perfect when asked, clumsy in clear kinds, at every rate and for every task."""

import numpy as np
import pytest

from svm_robot.drivers.virtual.disturbance import Disturbance
from svm_robot.drivers.virtual.expert import Clumsiness, ScriptedExpert
from svm_robot.drivers.virtual.graphics import mujoco
from svm_robot.drivers.virtual.judge import Judge
from svm_robot.drivers.virtual.kinematics import inverse, roll_for_yaw
from svm_robot.drivers.virtual.lockstep import LockstepEnv
from svm_robot.drivers.virtual.tasks import TASKS
from svm_robot.drivers.virtual.world import World
from svm_robot.errors import ConfigError
from svm_robot.rollout import EpisodeEnd, Policy, run_episode

NO_MISTAKES = Clumsiness(too_far=0, too_high=0)


def episodes(
    task: str,
    clumsiness: float | Clumsiness,
    seeds: range,
    rate_hz: float = 10.0,
    disturbance: Disturbance | None = None,
) -> list[EpisodeEnd]:
    world = World(task, disturbance, cameras={})
    env, expert = LockstepEnv(world, rate_hz), ScriptedExpert(world, clumsiness)
    steps = round(world.task.time_limit_s * rate_hz)
    return [run_episode(env, expert, Judge(world), max_steps=steps, seed=seed) for seed in seeds]


def rate(ends: list[EpisodeEnd]) -> float:
    return float(np.mean([end.terminated for end in ends]))


@pytest.mark.parametrize("task", list(TASKS))
@pytest.mark.parametrize("rate_hz", [10.0, 30.0])
def test_a_perfect_operator_always_succeeds(task: str, rate_hz: float) -> None:
    assert rate(episodes(task, 0.0, range(6), rate_hz)) == 1.0


def test_the_usual_operator_fails_about_every_second_time() -> None:
    ends = episodes("place", 1.0, range(60))
    assert 0.40 <= rate(ends) <= 0.70
    assert np.median([end.steps for end in ends if end.terminated]) < 60


def test_an_unsteady_hand_alone_hardly_fails() -> None:
    assert rate(episodes("place", NO_MISTAKES, range(20))) >= 0.9


@pytest.mark.parametrize("mistake", [Clumsiness(too_far=1.0), Clumsiness(too_far=0, too_high=1.0)])
def test_each_kind_of_mistake_fails(mistake: Clumsiness) -> None:
    assert rate(episodes("place", mistake, range(8))) <= 0.25


def test_more_clumsy_is_worse() -> None:
    assert rate(episodes("lift", 0.3, range(30))) > rate(episodes("lift", 2.0, range(30)))


def test_slippery_jaws_lose_cubes() -> None:
    assert rate(episodes("place", 0.0, range(12), disturbance=Disturbance(slip=2.0))) < 0.7


def test_the_long_task_has_a_hundred_steps() -> None:
    end = episodes("two", 0.0, range(1))[0]
    assert end.terminated
    assert end.steps >= 90


def test_same_seed_same_mistakes_whatever_came_before() -> None:
    first, second = episodes("place", 1.0, range(3, 4)), episodes("place", 1.0, range(2, 4))
    assert first[0].steps == second[1].steps


def test_mistakes_do_not_follow_from_the_place_of_the_cube() -> None:
    """World and operator are given the same seed; their draws must be independent."""
    world = World()
    expert = ScriptedExpert(world, 1.0)
    places, draws = [], []
    for seed in range(200):
        world.reset(seed)
        places.append(world.privileged()["cubes"]["red_cube"]["position"][0])
        expert.reset(seed)
        draws.append(expert.rng.random())
    assert abs(np.corrcoef(places, draws)[0, 1]) < 0.2


def test_it_is_a_policy_of_one_step_chunks() -> None:
    world = World()
    env = LockstepEnv(world)
    expert: Policy = ScriptedExpert(world)
    assert (expert.source, expert.latent) == ("script", None)
    env.reset(0)
    expert.reset(0)
    action = expert.act(env.observe(frames=False))
    assert action.shape == (1, 6)
    assert action.dtype == np.float32


def test_a_pause_does_not_make_the_hand_jump() -> None:
    world = World()
    expert = ScriptedExpert(world, 0.0)

    class At:
        def __init__(self, state_time_s: float) -> None:
            self.state_time_s = state_time_s

    first, after_an_hour = expert.act(At(10.0)), expert.act(At(3610.0))
    assert np.max(np.abs(after_an_hour[0, :5] - first[0, :5])) < 40


@pytest.mark.parametrize("bad", [-0.1, float("nan"), float("inf")])
def test_clumsiness_must_be_a_number_from_zero_up(bad: float) -> None:
    with pytest.raises(ConfigError, match="clumsiness"):
        ScriptedExpert(World(), bad)


def test_inverse_kinematics_reaches_the_point_it_was_given() -> None:
    world = World()
    rng = np.random.default_rng(0)
    for _ in range(50):
        radius, turn = rng.uniform(0.15, 0.24), rng.uniform(-1, 1)
        point = np.array([radius * np.cos(turn), radius * np.sin(turn), rng.uniform(0.01, 0.11)])
        world.data.qpos[:5] = inverse(tuple(point), 1.45, 0.3)
        forward(world)
        np.testing.assert_allclose(world.privileged()["grip"], point, atol=1e-6)


def forward(world: World) -> None:
    mujoco.mj_kinematics(world.model, world.data)


def test_a_point_out_of_reach_is_pointed_at() -> None:
    world = World()
    world.data.qpos[:5] = inverse((0.5, 0.5, 0.02), 1.45)
    forward(world)
    grip = world.privileged()["grip"]
    assert grip[1] / grip[0] == pytest.approx(1.0)
    assert np.isfinite(grip).all()


def test_the_jaws_line_up_with_the_cube_and_never_turn_more_than_an_eighth() -> None:
    for yaw in np.linspace(-3, 3, 25):
        roll = roll_for_yaw(0.4, float(yaw))
        assert abs(roll) <= np.pi / 4 + 1e-9
        assert np.isclose(np.sin(2 * (0.4 - roll - yaw)), 0, atol=1e-9)
