"""Whatever is asked for: nothing outside of the limits and nothing that is no number ever reaches the robot."""

from typing import Any

import numpy as np
import pytest
from safe_robots import JOINTS, LIMITS, LoggedRobot, logged_rig

from svm_robot.drivers.joints import JOINT_LIMITS
from svm_robot.drivers.joints import JOINTS as ARM
from svm_robot.drivers.safety import SafetyConfig
from svm_robot.drivers.virtual.lockstep import LockstepEnv
from svm_robot.drivers.virtual.world import World
from svm_robot.errors import UnsafeActionError

ULP = 2e-5
"""Targets travel as 32-bit numbers: the last place of one near 100."""


def wild(rng: np.random.Generator, count: int) -> Any:
    """An action of the kind that policies, replays and bugs give."""
    plain = rng.uniform(-1, 1, count) * 10.0 ** rng.integers(-2, 4)
    match rng.integers(12):
        case 0:
            plain[rng.integers(count)] = rng.choice([np.nan, np.inf, -np.inf])
        case 1:
            plain[rng.integers(count)] = rng.choice([1e30, -1e30, 1e300, -1.7e308])
        case 2:
            return plain[:-1]
        case 3:
            return plain[None]
        case 4:
            return rng.choice([None, "left", 3.0, 1j], 1)[0]
        case 5:
            return [complex(value) for value in plain]
        case 6:
            return [[value] for value in plain]
        case 7:
            return plain.astype(np.int64)
        case 8:
            return plain.astype(np.float16)
        case 9:
            return list(map(str, plain))
    return plain


def limits(rng: np.random.Generator, ranges: dict[str, tuple[float, float]]) -> SafetyConfig:
    joints = list(ranges)
    config = SafetyConfig(
        max_speed=float(rng.uniform(5, 300)),
        max_gripper_speed=float(rng.uniform(5, 300)),
        max_step=None if rng.random() < 0.5 else float(rng.uniform(0.5, 20)),
    )
    for joint in rng.choice(joints, 2, replace=False):
        low, high = ranges[joint]
        lower, upper = np.sort(rng.uniform(low, high, 2))
        config.limits[str(joint)] = [float(lower), float(upper) + 0.1]
        config.max_speed_by_joint[str(joint)] = float(rng.uniform(5, 100))
    config.max_step_by_joint[joints[0]] = float(rng.uniform(0.5, 20))
    return config


def ends_of(config: SafetyConfig, ranges: dict[str, tuple[float, float]]) -> np.ndarray:
    """(2, J) what the limits say."""
    both = [(ranges[joint], config.limits.get(joint, (-np.inf, np.inf))) for joint in ranges]
    return np.array([(max(own[0], less[0]), min(own[1], less[1])) for own, less in both]).T


def steps_of(config: SafetyConfig, joints: tuple[str, ...], rate_hz: float) -> np.ndarray:
    """(J,) the greatest step."""
    found = []
    for joint in joints:
        common = config.max_gripper_speed if joint == "gripper.pos" else config.max_speed
        step = config.max_step_by_joint.get(joint, config.max_step or np.inf)
        found.append(min(config.max_speed_by_joint.get(joint, common) / rate_hz, step))
    return np.array(found)


@pytest.mark.parametrize("seed", range(25))
def test_nothing_wild_reaches_the_robot(seed: int) -> None:
    rng = np.random.default_rng(seed)
    config, rate_hz = limits(rng, LIMITS), float(rng.choice([5, 10, 30, 50]))
    rig, robot = logged_rig(config, rate_hz)
    low, high = ends_of(config, LIMITS)
    robot.position = dict(zip(JOINTS, map(float, rng.uniform(low, high)), strict=True))
    robot.goal = dict(robot.position)
    robot.pace = float(rng.choice([0.5, 5, np.inf]))
    robot.clock.late_s = lambda: float(rng.choice([0.0, 0.0, 0.3, 1.7]) / rate_hz)
    rig.reset()
    begin = rig.observe().state
    for _ in range(60):
        action = wild(rng, 3)
        before = len(robot.log)
        try:
            applied = rig.apply(action)
        except UnsafeActionError:
            assert len(robot.log) == before, "a refused action sends nothing"
        else:
            assert applied.sent.tolist() == list(robot.log[-1][1].values())
            with np.errstate(over="ignore"):
                assert applied.clipped == bool(np.any(np.asarray(action).astype(np.float32) != applied.sent))
        if rng.random() < 0.8:  # now and then two come in one tick
            rig.observe()
    check(robot, low, high, begin, steps_of(config, JOINTS, rate_hz))
    speed = np.array([config.max_speed_by_joint.get(j, config.max_speed) for j in JOINTS])
    speed[2] = config.max_speed_by_joint.get(JOINTS[2], config.max_gripper_speed)
    check_pace(robot, speed, 1 / rate_hz)


def check(robot: LoggedRobot, low: np.ndarray, high: np.ndarray, begin: np.ndarray, step: np.ndarray) -> None:
    sent = robot.sent
    assert len(sent) > 10
    assert np.isfinite(sent).all()
    assert np.max([low - sent, sent - high]) <= 0
    assert (np.abs(np.diff([begin.astype(float), *sent], axis=0)) <= step + ULP).all()


def check_pace(robot: LoggedRobot, speed: np.ndarray, period_s: float) -> None:
    """Over any stretch of time: the speed, and two periods in hand."""
    sent, times_s = robot.sent, np.array(robot.times_s)
    for first in range(0, len(sent), 7):
        moved = np.abs(sent[first + 1 :] - sent[first])
        allowed = speed * (times_s[first + 1 :, None] - times_s[first] + 2 * period_s)
        assert (moved <= allowed + 1e-3).all()


@pytest.mark.parametrize("seed", range(4))
def test_in_lockstep_the_same_code_limits(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    ranges = {joint: JOINT_LIMITS[joint] for joint in ARM}
    config = limits(rng, ranges)
    world = World(cameras={}, seed=seed)
    got: list[np.ndarray] = []
    command = world.command
    env = LockstepEnv(world, 10.0, config)
    world.command = lambda targets: (got.append(np.array(targets)), command(targets))[1]  # type: ignore[method-assign]
    env.reset(seed)
    last = env.observe(frames=False).state.astype(float)
    low, high = ends_of(config, ranges)
    for _ in range(40):
        try:
            applied = env.apply(wild(rng, 6))
        except UnsafeActionError:
            pass
        else:
            assert np.array_equal(got[-1], applied.sent)
        env.observe(frames=False)
    way = np.array([last, *got])
    assert len(got) > 5 and np.isfinite(way).all()
    assert (np.abs(np.diff(way, axis=0)) <= steps_of(config, ARM, 10.0) + ULP).all()
    outside = np.maximum(low - way, way - high).max(axis=1)
    assert (np.diff(np.maximum(outside, 0)) <= ULP).all(), "who starts outside walks in, and never further out"
    env.close()


def test_what_a_replay_gives_is_understood_or_refused() -> None:
    torch = pytest.importorskip("torch")
    rig, robot = logged_rig()
    rig.reset()
    here = rig.observe().state
    single = [torch.tensor(float(value)) for value in here]
    assert rig.apply(single).sent.tolist() == here.tolist()  # type: ignore[arg-type]
    assert rig.apply(torch.tensor(here)).sent.tolist() == here.tolist()  # type: ignore[arg-type]
    for wrong in (
        torch.tensor(3.0),
        torch.tensor([float("nan"), 0, 0]),
        torch.tensor(here, requires_grad=True),
        [torch.tensor(float("inf"))] * 3,
        torch.zeros(3, dtype=torch.complex64),
    ):
        with pytest.raises(UnsafeActionError, match="nothing was sent"):
            rig.apply(wrong)
    assert len(robot.sent) == 2


def test_a_late_tick_is_no_licence_for_a_long_step() -> None:
    rig, robot = logged_rig(SafetyConfig(max_speed=50.0))
    rig.reset()
    rig.observe()
    late = iter([0.0, 0.95, 0.0, 0.0, 2.5, 0.0])
    robot.clock.late_s = lambda: next(late)
    for _ in range(6):
        rig.apply(np.array([90, 0, 50], np.float32))
        rig.observe()
    assert np.diff(robot.sent[:, 0]).max() <= 5 + ULP
    assert 30 < robot.sent[-1, 0] < 40, "two ticks that follow at once share the speed of one"


def test_a_step_limit_holds_at_any_speed() -> None:
    rig, robot = logged_rig(SafetyConfig(max_speed=1e6, max_step=2.0, max_step_by_joint={"gripper.pos": 0.5}))
    rig.reset()
    rig.observe()
    rig.apply(np.array([90, 30, 90], np.float32))
    assert robot.sent[-1].tolist() == [12.0, 2.0, 50.5]


@pytest.mark.parametrize("option", [{"max_step": 0.0}, {"max_step": -1.0}, {"max_step_by_joint": {"a.pos": np.nan}}])
def test_a_step_that_is_none_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"greatest step of a\.pos"):
        logged_rig(SafetyConfig(**option))


def test_why_targets_were_cut_is_told() -> None:
    rig, _ = logged_rig(SafetyConfig(max_speed=1e6, max_step_by_joint={"b.pos": 1.0}))
    rig.reset()
    rig.observe()
    rig.apply(np.array([200, 0, 50], np.float32))
    rig.observe()
    rig.apply(np.array([90, 20, 50], np.float32))
    assert rig.safety.told() == [
        "1 targets were cut to the end of a joint's range",
        "1 targets were cut to the greatest speed or step",
    ]
