"""What every ``Env`` must do, whoever implements it. A new environment is one more row of ``ENVS``."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import bus_toys
import doc_devices
import numpy as np
import pytest
import toys
from lerobot.robots.koch_follower import KochFollower, KochFollowerConfig

from svm_robot.drivers.bus.attach import attach
from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.clock import MonotonicClock
from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
from svm_robot.drivers.connect import connect
from svm_robot.drivers.limits import joint_limits
from svm_robot.drivers.rig_env import RigEnv
from svm_robot.drivers.safety import SafetyConfig
from svm_robot.drivers.virtual.disturbance import Disturbance
from svm_robot.drivers.virtual.lockstep import LockstepEnv
from svm_robot.drivers.virtual.wire import Wire
from svm_robot.drivers.virtual.world import World
from svm_robot.drivers.virtual_so101 import VirtualSO101
from svm_robot.errors import StaleError, UnsafeActionError
from svm_robot.rollout import Env


@dataclass(frozen=True)
class Row:
    """One environment under test."""

    make: Callable[[Path], Env]
    """From a folder that it may write into."""
    repeats: bool = True
    """The same seed gives the same start (False for the real world)."""
    time_tolerance_s: float = 1e-9
    """How far a tick may lie from its time."""
    needs: str = "lerobot"
    """A library without which the row is skipped."""


def wire(folder: Path, bus: BusConfig) -> RigEnv:
    """LeRobot's driver on the virtual robot's serial port, in real time; a busy machine may be late."""
    robot = VirtualSO101(VirtualSO101Config(calibration_dir=folder))
    attach(robot, bus)
    robot.connect()
    return RigEnv(
        robot,
        rate_hz=10.0,
        clock=MonotonicClock(),
        safety=SafetyConfig(),
        limits=joint_limits(robot),
        max_frame_age_s=5.0,
        reset_scene=robot.cell.reset,
    )


class KochEnv(RigEnv):
    """LeRobot's Koch driver, over our bus, on emulated Dynamixel servos, which it closes too."""

    def __init__(self, folder: Path) -> None:
        self.wire = Wire(bus_toys.koch_chain())
        self.wire.open()
        rows = {motor: asdict(row) for motor, row in bus_toys.koch_arm()[1].items()}
        (folder / "koch.json").write_text(json.dumps(rows))
        robot = KochFollower(KochFollowerConfig(port=self.wire.port, id="koch", calibration_dir=folder))
        attach(robot, bus_toys.PATIENT)
        connect(robot, "robot")
        super().__init__(
            robot,
            rate_hz=10.0,
            clock=MonotonicClock(),
            safety=SafetyConfig(),
            limits=joint_limits(robot),
            max_frame_age_s=5.0,
        )

    def close(self) -> None:
        super().close()
        self.wire.close()


class PanTiltEnv(RigEnv):
    """The example of docs/adding-a-device.md, and the head at the other end of its wire."""

    def __init__(self, _: Path) -> None:
        module, self.head = doc_devices.device("pantilt"), doc_devices.Head()
        robot = module.PanTilt(module.PanTiltConfig(port=self.head.port))
        connect(robot, "robot")
        super().__init__(
            robot,
            rate_hz=10.0,
            clock=MonotonicClock(),
            safety=SafetyConfig(),
            limits=dict.fromkeys(module.JOINTS, (-80.0, 80.0)),
            max_frame_age_s=5.0,
        )
        self._open = True

    def close(self) -> None:
        super().close()
        if self._open:
            self.head.close()
        self._open = False


DISTURBED = Disturbance(slip=1.0, delay_s=0.05, joint_noise_deg=0.2, pixel_noise=2.0, backlash_deg=0.5)
ENVS: dict[str, Row] = {
    "toy": Row(lambda _: toys.ToyEnv()),
    "lockstep": Row(lambda _: LockstepEnv(World())),
    "wire, LeRobot's bus": Row(partial(wire, bus=BusConfig(plain=True)), repeats=False, time_tolerance_s=0.08),
    "wire, our bus": Row(partial(wire, bus=bus_toys.PATIENT), repeats=False, time_tolerance_s=0.08),
    "Dynamixel wire": Row(KochEnv, repeats=False, time_tolerance_s=0.08, needs="dynamixel_sdk"),
    "pan-tilt head of the page": Row(PanTiltEnv, repeats=False, time_tolerance_s=0.08),
    "lockstep, 30 Hz, two cubes, disturbed": Row(lambda _: LockstepEnv(World("two", DISTURBED), rate_hz=30.0)),
}


@pytest.fixture(params=list(ENVS), scope="module")
def row(request: pytest.FixtureRequest) -> Row:
    found = ENVS[request.param]
    if importlib.util.find_spec(found.needs) is None:
        pytest.skip(f"{found.needs} is not installed")
    return found


@pytest.fixture(scope="module")
def env(row: Row, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Env]:
    """One for all tests of a row, which each begin with a reset: a rig takes seconds to open."""
    made = row.make(tmp_path_factory.mktemp("env"))
    yield made
    made.close()


def test_the_spec_is_constant_and_complete(env: Env) -> None:
    spec = env.spec
    assert spec.robot_type
    assert len(set(spec.joints)) == len(spec.joints) > 0
    assert all(joint.endswith(".pos") for joint in spec.joints)
    assert spec.rate_hz > 0
    assert len(spec.units) in (0, len(spec.joints))
    assert set(spec.units) <= {"deg", "%", "±%", ""}
    assert set(spec.camera_identities) <= set(spec.cameras)
    assert spec.calibration == "" or len(bytes.fromhex(spec.calibration)) == 8
    env.reset(0)
    env.observe()
    assert env.spec == spec


def test_an_observation_is_what_the_spec_says(env: Env) -> None:
    env.reset(0)
    seen = env.observe()
    assert seen.state.shape == (len(env.spec.joints),)
    assert seen.state.dtype == np.float32
    assert np.isfinite(seen.state).all()
    assert set(seen.frames) == set(seen.frame_times_s) == set(env.spec.cameras)
    for role, (height, width) in env.spec.cameras.items():
        assert seen.frames[role].shape == (height, width, 3)
        assert seen.frames[role].dtype == np.uint8
        assert seen.frame_times_s[role] <= seen.state_time_s + 1 / env.spec.rate_hz


def test_without_frames_only_the_joints_are_read(env: Env) -> None:
    env.reset(0)
    seen = env.observe(frames=False)
    assert (len(seen.frames), len(seen.frame_times_s)) == (0, 0)
    assert np.isfinite(seen.state).all()


def test_the_clock_moves_on_by_the_period(env: Env, row: Row) -> None:
    env.reset(0)
    times = []
    for _ in range(8):
        seen = env.observe(frames=False)
        times.append(seen.state_time_s)
        env.apply(seen.state)
    np.testing.assert_allclose(np.diff(times), 1 / env.spec.rate_hz, atol=row.time_tolerance_s)


def test_a_pose_that_is_held_is_sent_as_asked_for(env: Env) -> None:
    env.reset(0)
    state = env.observe(frames=False).state
    before = state.copy()
    applied = env.apply(state)
    assert applied.sent.shape == state.shape
    assert applied.sent.dtype == np.float32
    np.testing.assert_array_equal(state, before)  # the caller's array is left alone
    np.testing.assert_array_equal(applied.sent, state)
    assert not applied.clipped


def test_a_jump_is_limited_and_says_so(env: Env) -> None:
    env.reset(0)
    state = env.observe(frames=False).state
    for jump in (1e4, -1e4):
        asked = np.full_like(state, jump)
        applied = env.apply(asked)
        assert applied.clipped
        assert np.all(np.abs(applied.sent) < 1e3)
        np.testing.assert_array_equal(asked, jump)


def test_a_joint_moves_towards_its_target(env: Env) -> None:
    env.reset(0)
    first = env.observe(frames=False).state
    target = first.copy()
    target[0] += 8
    for _ in range(int(env.spec.rate_hz)):
        env.apply(target)
        last = env.observe(frames=False).state
    assert last[0] - first[0] == pytest.approx(8, abs=2)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_refused_and_nothing_moves(env: Env, bad: float) -> None:
    env.reset(0)
    first = env.observe(frames=False).state
    env.apply(first)
    action = first.copy()
    action[1] = bad
    with pytest.raises(UnsafeActionError):
        env.apply(action)
    for _ in range(3):
        last = env.observe(frames=False).state
    np.testing.assert_allclose(last, first, atol=1.5)


def test_another_number_of_joints_is_refused(env: Env) -> None:
    env.reset(0)
    state = env.observe(frames=False).state
    for wrong in (state[:-1], np.append(state, np.float32(0)), state[None]):
        with pytest.raises(UnsafeActionError):
            env.apply(wrong)


def test_the_same_seed_repeats_an_episode(env: Env, row: Row) -> None:
    if not row.repeats:
        pytest.skip("no two episodes of this world are the same")
    runs = []
    for _ in range(2):
        env.reset(11)
        states = []
        for step in range(6):
            seen = env.observe(frames=step == 5)
            states.append(seen.state)
            env.apply(seen.state + np.float32(3))
        runs.append((np.array(states), dict(seen.frames)))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    for role in env.spec.cameras:
        np.testing.assert_array_equal(runs[0][1][role], runs[1][1][role])


def test_another_seed_is_another_start(env: Env, row: Row) -> None:
    if not row.repeats:
        pytest.skip("no two episodes of this world are the same")
    states = []
    for seed in (1, 2):
        env.reset(seed)
        states.append(env.observe(frames=False).state)
    assert np.any(states[0] != states[1])


def test_observations_do_not_change_afterwards(env: Env) -> None:
    env.reset(0)
    first = env.observe()
    state, frames = first.state.copy(), {role: frame.copy() for role, frame in first.frames.items()}
    for _ in range(4):
        env.apply(first.state + np.float32(20))
        env.observe()
    np.testing.assert_array_equal(first.state, state)
    for role, frame in frames.items():
        np.testing.assert_array_equal(first.frames[role], frame)


def test_after_a_rest_the_next_episode_begins_as_ever(env: Env) -> None:
    for error in (None, None, StaleError("camera front stands still")):
        env.reset(0)
        state = env.observe(frames=False).state
        env.apply(state)
        env.rest(error)
        env.rest(error)
    env.reset(0)
    state = env.observe(frames=False).state
    np.testing.assert_array_equal(env.apply(state).sent, state)


def test_close_may_be_called_twice(row: Row, tmp_path: Path) -> None:
    made = row.make(tmp_path)
    made.close()
    made.close()
