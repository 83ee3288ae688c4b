"""A rig on a fake robot and a fake clock: nothing here waits."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from clocks import FakeClock

from svm_robot.drivers.approach import StartPose
from svm_robot.drivers.camera_frames import camera_sizes, timed_frame
from svm_robot.drivers.rig_env import RigEnv
from svm_robot.drivers.safety import SafetyConfig
from svm_robot.drivers.shutdown import shut_down
from svm_robot.drivers.ticker import Ticker
from svm_robot.errors import ConfigError, DeviceError, StaleError, UnsafeActionError

JOINTS = ("a.pos", "gripper.pos")


class FakeCamera:
    def __init__(self, clock: FakeClock) -> None:
        self.clock, self.age_s, self.is_connected, self.broken = clock, 0.01, True, False

    @property
    def latest_timestamp(self) -> float:
        return self.clock.time_s - self.age_s

    def disconnect(self) -> None:
        if self.broken:
            raise OSError("camera stuck")
        self.is_connected = False


class FakeBus:
    def __init__(self) -> None:
        self.motors = {"a": 1, "gripper": 2}
        self.torque = {"a": True, "gripper": True}
        self.is_connected = True
        self.dead: set[str] = set()

    def disable_torque(self, motor: str, num_retry: int = 0) -> None:
        if motor in self.dead:
            raise ConnectionError(f"no answer from {motor}")
        self.torque[motor] = False

    def disconnect(self, disable_torque: bool = True) -> None:
        if disable_torque:
            for motor in self.motors:
                self.disable_torque(motor)
        self.is_connected = False


class FakeRobot:
    """Jumps to its targets at once, unless it is stuck."""

    name = robot_type = "fake"

    def __init__(self, clock: FakeClock) -> None:
        self.config = SimpleNamespace()
        self.cameras = {"front": FakeCamera(clock)}
        self.bus = FakeBus()
        self.position = {"a.pos": 10.0, "gripper.pos": 50.0}
        self.sent: list[dict[str, float]] = []
        self.stuck = False
        self.fails: Exception | None = None
        self.disconnected = 0

    action_features: dict[str, Any] = {**dict.fromkeys(JOINTS, float), "speed.vel": float}  # noqa: RUF012
    observation_features: dict[str, Any] = {**action_features, "front": (4, 6, 3)}  # noqa: RUF012

    @property
    def is_connected(self) -> bool:
        return self.bus.is_connected and self.cameras["front"].is_connected

    def get_observation(self) -> dict[str, Any]:
        if self.fails:
            raise self.fails
        return {**self.position, "speed.vel": 0.0, "front": np.zeros((4, 6, 3), np.uint8)}

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        if self.fails:
            raise self.fails
        self.sent.append(action)
        if not self.stuck:
            self.position.update(action)
        return action

    def disconnect(self) -> None:
        self.disconnected += 1
        self.bus.disconnect()
        self.cameras["front"].disconnect()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def robot(clock: FakeClock) -> FakeRobot:
    return FakeRobot(clock)


@pytest.fixture
def rig(robot: FakeRobot, clock: FakeClock) -> RigEnv:
    return make_rig(robot, clock)


def make_rig(robot: FakeRobot, clock: FakeClock, **changes: Any) -> RigEnv:
    settings: dict[str, Any] = {
        "rate_hz": 10.0,
        "clock": clock,
        "safety": SafetyConfig(max_speed=50.0, max_gripper_speed=100.0),
        "limits": {"a.pos": (-90.0, 90.0), "gripper.pos": (0.0, 100.0)},
        "max_frame_age_s": 0.2,
    }
    return RigEnv(robot, **{**settings, **changes})


def test_a_joint_without_a_range_is_refused(robot: FakeRobot, clock: FakeClock) -> None:
    with pytest.raises(ConfigError, match=r"gripper\.pos.*safety\.limits"):
        make_rig(robot, clock, limits={"a.pos": (-90.0, 90.0)})
    own = SafetyConfig(limits={"gripper.pos": [0.0, 100.0]})
    assert make_rig(robot, clock, limits={"a.pos": (-90.0, 90.0)}, safety=own).spec.joints == JOINTS


def test_spec_comes_from_the_robot(rig: RigEnv) -> None:
    assert rig.spec.joints == JOINTS
    assert rig.spec.cameras == {"front": (4, 6)}
    assert rig.spec.robot_type == "fake"


def test_ticks_keep_their_grid_whatever_the_work_takes(rig: RigEnv, clock: FakeClock) -> None:
    rig.reset()
    times = []
    for work_s in (0.03, 0.09, 0.0, 0.05, 0.099, 0.0):
        times.append(rig.observe().state_time_s)
        clock.time_s += work_s
    assert np.allclose(np.diff(times), 0.1)
    assert times[0] == 100.0, "the first observation after a reset does not wait"


def test_a_late_wake_up_does_not_shift_later_ticks(clock: FakeClock) -> None:
    ticker = Ticker(10.0, clock)
    ticker.wait()
    clock.late_s = 0.004
    ticker.wait()
    clock.late_s = 0.0
    ticker.wait()
    assert clock.time_s == pytest.approx(100.2)
    assert ticker.lateness_s == pytest.approx([0.004, 0.0])


def test_a_slow_step_runs_at_once_and_whole_periods_are_left_out(clock: FakeClock) -> None:
    ticker = Ticker(10.0, clock)
    ticker.wait()
    clock.time_s += 0.15
    ticker.wait()
    assert (clock.time_s, ticker.missed) == (pytest.approx(100.15), 0)
    clock.time_s = 100.57
    ticker.wait()
    assert (clock.time_s, ticker.missed) == (pytest.approx(100.57), 3)
    ticker.wait()
    assert clock.time_s == pytest.approx(100.6), "back on the grid"
    assert ticker.ticks == 4


def test_statistics_tell_lateness_and_frame_age(rig: RigEnv, robot: FakeRobot, clock: FakeClock) -> None:
    rig.reset()
    rig.observe()
    clock.late_s = 0.02
    robot.cameras["front"].age_s = 0.05
    rig.observe()
    told = rig.statistics()
    assert (told.ticks, told.missed) == (2, 0)
    assert told.lateness_max_s == pytest.approx(0.02)
    assert told.frame_age_max_s["front"] == pytest.approx(0.05)
    assert told.frame_age_mean_s["front"] == pytest.approx(0.03)
    assert str(told).startswith("0 of 2 ticks missed, late by ")
    assert str(told).endswith("20.0 ms at most, front pictures 30 ms old (at most 50)")


def test_frames_carry_their_capture_time(rig: RigEnv, clock: FakeClock) -> None:
    rig.reset()
    seen = rig.observe()
    assert seen.frame_times_s == {"front": pytest.approx(99.99)}
    assert seen.frames["front"].shape == (4, 6, 3)
    assert rig.observe(frames=False).frames == {}


def test_a_stale_frame_names_camera_age_and_limit(rig: RigEnv, robot: FakeRobot) -> None:
    rig.reset()
    robot.cameras["front"].age_s = 0.35
    with pytest.raises(StaleError, match=r"camera 'front': newest frame is 350 ms old, .* 200 ms.*old picture"):
        rig.observe()
    assert rig.observe(frames=False).frames == {}


@pytest.mark.parametrize(
    ("raised", "becomes"),
    [
        (TimeoutError("frame too old"), StaleError),
        (ConnectionError("no status packet"), DeviceError),
        (RuntimeError("x"), DeviceError),
        (OSError("device reports readiness to read but returned no data"), DeviceError),
    ],
)
def test_what_drivers_raise_becomes_an_error_for_people(
    rig: RigEnv, robot: FakeRobot, raised: Exception, becomes: type[Exception]
) -> None:
    rig.reset()
    rig.observe()
    robot.fails = raised
    with pytest.raises(becomes, match=str(raised)):
        rig.observe()
    if becomes is DeviceError:
        with pytest.raises(DeviceError, match="does not take its targets"):
            rig.apply(np.array([10, 50], np.float32))


def test_actions_go_through_the_limits(rig: RigEnv, robot: FakeRobot) -> None:
    rig.reset()
    rig.observe()
    applied = rig.apply(np.array([80, 50], np.float32))
    assert applied.sent.tolist() == [15.0, 50.0]
    assert applied.clipped
    assert robot.sent[-1] == {"a.pos": 15.0, "gripper.pos": 50.0}
    applied = rig.apply(np.array([17, 50], np.float32))
    assert (applied.sent.tolist(), applied.clipped) == ([17.0, 50.0], False)


def test_what_the_robot_clips_itself_is_reported(
    rig: RigEnv, robot: FakeRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.reset()
    rig.observe()
    monkeypatch.setattr(robot, "send_action", lambda action: {**action, "a.pos": 11.0})
    applied = rig.apply(np.array([12, 50], np.float32))
    assert (applied.sent.tolist(), applied.clipped) == ([11.0, 50.0], True)


@pytest.mark.parametrize("action", [[np.nan, 1], [np.inf, 1], [1, 2, 3], [1]])
def test_bad_actions_move_nothing(rig: RigEnv, robot: FakeRobot, action: list[float]) -> None:
    rig.reset()
    rig.observe()
    with pytest.raises(UnsafeActionError):
        rig.apply(np.array(action, np.float32))
    assert robot.sent == []


def test_no_action_before_the_arm_was_seen(rig: RigEnv, robot: FakeRobot) -> None:
    rig.reset()
    with pytest.raises(UnsafeActionError, match="before the first observe"):
        rig.apply(np.array([10, 50], np.float32))
    assert robot.sent == []


def test_reset_walks_to_the_start_at_limited_speed(robot: FakeRobot, clock: FakeClock) -> None:
    rig = make_rig(robot, clock, start=StartPose({"a.pos": -20.0}, speed=30.0))
    rig.reset()
    way = [10.0, *(target["a.pos"] for target in robot.sent)]
    assert way[-1] == -20.0
    assert np.max(np.abs(np.diff(way))) <= 3.0 + 1e-4
    assert len(robot.sent) == 10
    assert {target["gripper.pos"] for target in robot.sent} == {50.0}, "a joint without a start stays"


def test_a_hasty_start_speed_does_not_pass_the_safety_limits(robot: FakeRobot, clock: FakeClock) -> None:
    rig = make_rig(robot, clock, start=StartPose({"a.pos": -20.0, "gripper.pos": 90.0}, speed=1e6))
    rig.reset()
    way = np.array([[10.0, 50.0], *([target[joint] for joint in JOINTS] for target in robot.sent)])
    assert way[-1].tolist() == [-20.0, 90.0]
    assert np.all(np.abs(np.diff(way, axis=0)) <= np.array([5.0, 10.0]) + 1e-4)


def test_reset_then_scene(robot: FakeRobot, clock: FakeClock) -> None:
    seeds: list[int | None] = []
    make_rig(robot, clock, reset_scene=seeds.append).reset(7)
    assert seeds == [7]


def test_reset_names_the_joint_that_does_not_arrive(robot: FakeRobot, clock: FakeClock) -> None:
    robot.stuck = True
    with pytest.raises(DeviceError, match=r"a\.pos stopped 30\.0 away"):
        make_rig(robot, clock, start=StartPose({"a.pos": -20.0})).reset()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": StartPose({"elbow.pos": 1.0})}, r"start_pose names elbow\.pos; .* a\.pos, gripper\.pos"),
        ({"start": StartPose({"a.pos": float("nan")})}, r"start_pose of a\.pos is nan"),
        ({"start": StartPose({"gripper.pos": float("inf")})}, r"start_pose of gripper\.pos is inf"),
        ({"rate_hz": 0.0}, "rate"),
    ],
)
def test_settings_that_do_not_fit(robot: FakeRobot, clock: FakeClock, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_rig(robot, clock, **changes)


def test_a_robot_without_joint_positions_is_refused(robot: FakeRobot, clock: FakeClock) -> None:
    robot.action_features = {"speed.vel": float}
    with pytest.raises(ConfigError, match="no joint positions"):
        make_rig(robot, clock)


def test_close_switches_off_once(rig: RigEnv, robot: FakeRobot) -> None:
    rig.close()
    rig.close()
    assert robot.disconnected == 1
    assert robot.bus.torque == {"a": False, "gripper": False}


def test_a_dead_motor_does_not_keep_the_others_powered(rig: RigEnv, robot: FakeRobot) -> None:
    robot.bus.dead = {"a"}
    robot.cameras["front"].broken = True
    with pytest.raises(DeviceError, match="no answer from a; camera stuck; cut its power"):
        rig.close()
    assert robot.bus.torque == {"a": True, "gripper": False}
    assert not robot.bus.is_connected


def test_shut_down_returns_failures_in_order(robot: FakeRobot) -> None:
    robot.bus.dead = {"gripper"}
    robot.cameras["front"].broken = True
    failures = shut_down(robot)
    assert [str(failure) for failure in failures] == [
        "no answer from gripper",
        "no answer from gripper",
        "camera stuck",
    ]
    assert not robot.bus.is_connected


def test_a_second_ctrl_c_does_not_leave_a_motor_on(rig: RigEnv, robot: FakeRobot) -> None:
    switch_off, pressed = robot.bus.disable_torque, iter([KeyboardInterrupt()])

    def impatient(motor: str, num_retry: int = 0) -> None:
        for error in pressed:
            raise error
        switch_off(motor, num_retry)

    robot.bus.disable_torque = impatient  # type: ignore[method-assign]
    rig.close()
    assert robot.bus.torque == {"a": False, "gripper": False}


def test_shut_down_keeps_torque_where_the_rig_says_so(robot: FakeRobot) -> None:
    robot.config.disable_torque_on_disconnect = False
    robot.disconnect = lambda: robot.bus.disconnect(False)  # type: ignore[method-assign]
    assert shut_down(robot) == []
    assert robot.bus.torque == {"a": True, "gripper": True}


def test_shut_down_when_a_camera_never_opened(robot: FakeRobot) -> None:
    robot.cameras["front"].is_connected = False
    assert shut_down(robot) == []
    assert robot.disconnected == 0
    assert robot.bus.torque == {"a": False, "gripper": False}
    assert not robot.bus.is_connected


class Lock:
    """Tells a test when it is held."""

    held = 0

    def __enter__(self) -> None:
        self.held += 1

    def __exit__(self, *error: object) -> None: ...


def timed(**camera: Any) -> Callable[[], tuple[Any, float]]:
    return lambda: timed_frame(SimpleNamespace(**camera), np.zeros(1, np.uint8), 5.0)


def test_frame_and_time_are_taken_together_under_the_cameras_lock() -> None:
    lock, newest = Lock(), np.ones(1, np.uint8)
    frame, time_s = timed(frame_lock=lock, latest_timestamp=4.0, latest_frame=newest)()
    assert (frame is newest, time_s, lock.held) == (True, 4.0, 1)
    assert timed(latest_timestamp=3.0)()[1] == 3.0
    assert timed()()[1] == 5.0, "a camera that tells no time gets that of the reading"


def test_a_realsense_keeps_its_colour_picture_under_another_name() -> None:
    newest = np.ones(1, np.uint8)
    frame, time_s = timed(frame_lock=Lock(), latest_timestamp=4.0, latest_color_frame=newest, latest_depth_frame=None)()
    assert (frame is newest, time_s) == (True, 4.0)


def test_a_picture_without_colour_is_refused() -> None:
    assert camera_sizes({"a.pos": float, "front": (4, 6, 3)}) == {"front": (4, 6)}
    with pytest.raises(ConfigError, match=r"'front_depth' gives pictures of shape \(4, 6, 1\).*use_depth"):
        camera_sizes({"front": (4, 6, 3), "front_depth": (4, 6, 1)})


def test_cameras_without_a_time_are_named(rig: RigEnv, robot: FakeRobot) -> None:
    assert rig.untimed_cameras == []
    robot.cameras = {"front": SimpleNamespace()}  # type: ignore[dict-item]
    assert rig.untimed_cameras == ["front"]
    robot.cameras = {}
    assert rig.untimed_cameras == ["front"]
