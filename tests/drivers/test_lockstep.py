"""The virtual robot in lockstep (what every Env must do is in contracts/test_env_contract.py)."""

from collections.abc import Iterator

import numpy as np
import pytest

from svm_robot.drivers.safety import SafetyConfig
from svm_robot.drivers.virtual.disturbance import Disturbance
from svm_robot.drivers.virtual.judge import Judge
from svm_robot.drivers.virtual.lockstep import LockstepEnv
from svm_robot.drivers.virtual.world import World
from svm_robot.errors import ConfigError, UnsafeActionError


@pytest.fixture
def env() -> Iterator[LockstepEnv]:
    made = LockstepEnv(World())
    yield made
    made.close()


def test_it_is_the_robot_of_the_rig(env: LockstepEnv) -> None:
    assert env.spec.robot_type == "virtual_so101"
    assert env.spec.cameras == {"front": (64, 64), "wrist": (64, 64)}
    assert env.spec.joints[0] == "shoulder_pan.pos"
    assert env.spec.rate_hz == 10.0


def test_the_world_stands_still_between_two_calls(env: LockstepEnv) -> None:
    env.reset(0)
    first = env.observe(frames=False)
    env.apply(first.state + 5)
    np.testing.assert_array_equal(env.world.read_joints(), first.state)
    second = env.observe(frames=False)
    assert np.all(np.abs(second.state - first.state) > 0.5)
    assert second.state_time_s - first.state_time_s == pytest.approx(0.1)


def test_frames_are_drawn_only_when_asked_for(env: LockstepEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    env.reset(0)
    drawn: list[str] = []
    monkeypatch.setattr(env.world, "render", lambda role: drawn.append(role))
    assert env.observe(frames=False).frames == {}
    assert drawn == []
    env.observe(frames=True)
    assert drawn == ["front", "wrist"]


def test_frames_are_copies(env: LockstepEnv) -> None:
    env.reset(0)
    first = env.observe()
    kept = first.frames["front"].copy()
    env.apply(first.state + np.array([40, 0, 0, 0, 0, 0], np.float32))
    for _ in range(10):
        env.observe()
    np.testing.assert_array_equal(first.frames["front"], kept)


def test_steps_are_limited_from_the_last_target_not_from_the_lagging_arm(env: LockstepEnv) -> None:
    env.reset(0)
    start = env.observe(frames=False).state
    target = start + np.array([60, 0, 0, 0, 0, 0], np.float32)
    sent = []
    for _ in range(3):
        sent.append(env.apply(target).sent[0] - start[0])
        env.observe(frames=False)
    np.testing.assert_allclose(sent, (11.5, 23.0, 34.5), atol=0.01)


def test_the_limits_of_the_rig_hold_at_another_rate() -> None:
    env = LockstepEnv(World(), rate_hz=30.0, safety=SafetyConfig(max_speed=30, limits={"shoulder_pan.pos": [-5, 5]}))
    env.reset(1)
    for _ in range(90):
        env.observe(frames=False)
        sent = env.apply(np.array([90, 0, 0, 0, 0, 50], np.float32)).sent
        assert abs(sent[0]) <= 11.5  # it may start outside its narrow range, and walks in
    assert sent[0] == pytest.approx(5)


def test_a_refused_action_leaves_the_target_where_it_was(env: LockstepEnv) -> None:
    env.reset(0)
    start = env.observe(frames=False).state
    held = env.world.data.ctrl.copy()
    with pytest.raises(UnsafeActionError, match=r"wrist_flex\.pos"):
        env.apply(np.array([0, 0, 0, np.nan, 0, 0], np.float32))
    np.testing.assert_array_equal(env.world.data.ctrl, held)
    assert not env.apply(start).clipped


@pytest.mark.parametrize("rate_hz", [0.0, -1.0])
def test_a_rate_that_is_none_is_refused(rate_hz: float) -> None:
    with pytest.raises(ConfigError, match="rate_hz"):
        LockstepEnv(World(), rate_hz=rate_hz)


def test_no_cameras_at_all_is_a_robot_without_eyes() -> None:
    env = LockstepEnv(World(cameras={}))
    env.reset(0)
    assert env.observe(frames=True).frames == {}


def test_disturbances_repeat_with_the_seed() -> None:
    disturbance = Disturbance(slip=3.0, delay_s=0.05, joint_noise_deg=0.3, pixel_noise=2.0)
    runs = []
    for _ in range(2):
        env = LockstepEnv(World(disturbance=disturbance))
        env.reset(8)
        for step in range(10):
            seen = env.observe()
            env.apply(seen.state + np.float32(step))
        runs.append(seen)
        env.close()
    np.testing.assert_array_equal(runs[0].state, runs[1].state)
    np.testing.assert_array_equal(runs[0].frames["front"], runs[1].frames["front"])


class Scene:
    done = False

    def succeeded(self) -> bool:
        return self.done


def test_the_judge_says_success_when_the_task_is_done_and_failure_at_the_time_limit() -> None:
    scene = Scene()
    judge = Judge(scene)
    judge.begin(0)
    assert judge.poll(None) is None
    assert judge.outcome() == "failure"
    scene.done = True
    assert judge.poll(None) == "success"
    assert judge.outcome() == "success"
    assert not judge.wants_to_stop()
