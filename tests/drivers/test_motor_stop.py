"""How a session ends: the steps, their order and times, Ctrl-C in the middle of them, threads that never answer."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from safe_robots import LoggedRobot, logged_rig

from svm_robot.drivers.approach import StartPose
from svm_robot.drivers.clock import MonotonicClock
from svm_robot.drivers.rig_env import RigEnv
from svm_robot.drivers.safety import SafetyConfig
from svm_robot.drivers.safety.guardian import Guardian
from svm_robot.drivers.safety.patient import Patient
from svm_robot.drivers.safety.steps import Steps, StopTimes
from svm_robot.errors import ConfigError, DeviceError, JointFault, StaleError

SHORT = StopTimes(hold_s=0.3, torque_s=0.3, close_s=0.3, grace_s=0.1, exit_s=0.4)
HOME = np.array([10, 0, 50], np.float32)


@pytest.fixture
def stuck() -> Iterator[Callable[[], None]]:
    """Something that hangs until the test is over."""
    over = threading.Event()
    yield lambda: over.wait(20) and None
    over.set()


def moved(**more: object) -> tuple[RigEnv, LoggedRobot]:
    """A rig whose arm has begun to move."""
    rig, robot = logged_rig(**more)  # type: ignore[arg-type]
    rig.reset()
    rig.observe()
    robot.pace = 2.0
    rig.apply(HOME + 8)
    robot.advance()
    return rig, robot


def names(rig: RigEnv) -> list[str]:
    return [done.name for done in rig.steps.log]


def offs(robot: LoggedRobot) -> list[str]:
    return [row for what, row in robot.log if what == "off"]


def test_a_step_that_fails_is_remembered_and_the_next_one_runs() -> None:
    steps = Steps(MonotonicClock())
    error = OSError("stuck")

    def fails() -> None:
        raise error

    assert steps.run("first", fails, 1.0) is error
    assert steps.run("second", lambda: 1, 1.0) is None
    assert steps.problems == [error]
    assert [str(done).partition(" (")[0] for done in steps.log] == ["first: stuck", "second: done"]


def test_a_step_that_hangs_is_left_behind(stuck: Callable[[], None]) -> None:
    steps, began_s = Steps(MonotonicClock()), time.monotonic()
    problem = steps.run("closing", stuck, 0.1)
    assert time.monotonic() - began_s < 1
    assert isinstance(problem, DeviceError) and "'closing' did not end within 0.1 s" in str(problem)


@pytest.mark.parametrize("after_s", [0.0, 0.1])
def test_a_ctrl_c_does_not_cut_a_step_short(after_s: float) -> None:
    steps, done = Steps(MonotonicClock()), []

    def slow() -> None:
        time.sleep(after_s)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.15)
        done.append(True)

    with pytest.raises(KeyboardInterrupt):
        steps.run("slow", slow, 2.0)
    assert done == [True] and steps.problems == []


def test_after_an_error_the_arm_holds_then_lets_go_once() -> None:
    rig, robot = moved()
    rig.rest(JointFault("b is hot", "b", ("temperature",)))
    assert robot.sent[-1].tolist() == [12.0, 2.0, 58.0], "where it was; the gripper keeps its grip"
    assert [what for what, _ in robot.log] == ["send", "send", "off", "off", "off"]
    with pytest.raises(DeviceError, match="nothing is sent any more: the session ended"):
        rig.apply(HOME)
    rig.make_safe()
    rig.close()
    rig.close()
    assert names(rig) == ["hold", "torque off", "disconnect the robot", "close the port"]
    assert offs(robot) == ["a", "b", "gripper"]


def test_after_an_old_picture_the_arm_only_holds_and_the_next_episode_goes_on() -> None:
    rig, robot = moved()
    rig.rest(StaleError("camera 'front' stands still"))
    assert robot.sent[-1].tolist() == [12.0, 2.0, 58.0] and offs(robot) == []
    rig.reset()
    rig.observe()
    rig.apply(HOME + 3)
    rig.close()


def test_an_episode_that_ends_well_leaves_the_arm_as_it_is() -> None:
    rig, robot = moved()
    rig.rest()
    assert len(robot.log) == 1
    rig.close()


PARK = {"park": StartPose({"a.pos": -20.0, "b.pos": 5.0}, speed=30.0)}


def test_it_is_parked_slowly_before_it_lets_go() -> None:
    rig, robot = moved(**PARK)
    rig.rest()
    rig.close()
    assert names(rig)[:3] == ["hold", "park", "torque off"]
    assert robot.sent[-1].tolist() == [-20.0, 5.0, pytest.approx(58, abs=8)]
    assert np.abs(np.diff(robot.sent[2:], axis=0)).max() <= 3 + 1e-4, "30 units/s at 10 Hz"
    assert robot.log[-1] == ("off", "gripper")


@pytest.mark.parametrize(
    ("error", "parks"), [(KeyboardInterrupt(), True), (ValueError("bug"), True), (DeviceError("dead"), False)]
)
def test_it_is_parked_unless_a_device_failed(error: BaseException, parks: bool) -> None:
    rig, robot = moved(**PARK)
    rig.rest(error)
    assert ("park" in names(rig)) == parks
    assert offs(robot) == ["a", "b", "gripper"]
    rig.close()


def test_without_a_park_pose_nothing_moves() -> None:
    rig, robot = moved()
    rig.close()
    assert names(rig)[:2] == ["hold", "torque off"] and len(robot.sent) == 2


def test_a_way_that_is_blocked_is_told_and_it_lets_go_all_the_same() -> None:
    rig, robot = moved(**PARK)
    robot.pace = 0.0
    with pytest.raises(DeviceError, match=r"a\.pos stopped .* away from its park position"):
        rig.close()
    assert offs(robot) == ["a", "b", "gripper"]


def test_a_second_ctrl_c_ends_the_parking_and_not_the_letting_go() -> None:
    rig, robot = moved(**PARK)
    rig.motors.hurry.set()
    rig.close()
    assert "park" not in names(rig) and offs(robot) == ["a", "b", "gripper"]
    rig, robot = moved(**PARK)
    send = robot.send_action

    def third(action: dict[str, float]) -> dict[str, float]:
        if len(robot.sent) == 4:
            rig.motors.hurry.set()
        return send(action)

    robot.send_action = third  # type: ignore[method-assign]
    rig.close()
    assert len(robot.sent) == 5 and offs(robot) == ["a", "b", "gripper"]


def test_motors_that_shall_keep_their_torque_do() -> None:
    rig, robot = logged_rig()
    robot.config.disable_torque_on_disconnect = False
    limits = dict.fromkeys(robot.action_features, (-90.0, 90.0))
    rig = RigEnv(robot, rate_hz=10.0, clock=robot.clock, safety=SafetyConfig(), limits=limits, max_frame_age_s=0.2)
    rig.close()
    assert offs(robot) == []


def test_a_robot_that_hangs_is_given_up_in_time_and_nothing_is_skipped(stuck: Callable[[], None]) -> None:
    rig, robot = moved(times=SHORT)
    robot.bus.sync_read = lambda *_, **__: stuck()  # type: ignore[method-assign,assignment]
    robot.bus.disable_torque = lambda *_, **__: stuck()  # type: ignore[method-assign]
    began_s = time.monotonic()
    with pytest.raises(DeviceError, match=r"'hold' did not end within 0\.3 s.*'torque off' did not end.*cut its power"):
        rig.close()
    assert time.monotonic() - began_s < 3
    assert names(rig) == ["hold", "torque off", "disconnect the robot", "close the port"]


def test_a_caller_that_hangs_inside_the_driver_does_not_keep_the_torque_on(stuck: Callable[[], None]) -> None:
    rig, robot = moved()

    def hang() -> None:
        with rig.link.turn():
            stuck()

    threading.Thread(target=hang, daemon=True).start()
    time.sleep(0.05)
    with pytest.raises(DeviceError, match="another call hangs inside its driver"):
        rig.close()
    assert offs(robot) == ["a", "b", "gripper"]


def test_a_pose_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"park_pose names elbow\.pos; .* a\.pos, b\.pos, gripper\.pos"):
        logged_rig(park=StartPose({"elbow.pos": 3.0}))
    with pytest.raises(ConfigError, match=r"park_pose of a\.pos is nan"):
        logged_rig(park=StartPose({"a.pos": float("nan")}))


def test_a_listener_that_hangs_at_the_end_is_left_behind(stuck: Callable[[], None]) -> None:
    class Slow:
        needs_every_frame = True

        def on_end(self, end: object) -> None:
            stuck()

    patient = Patient(Slow(), "saving the episode", Steps(MonotonicClock()), 0.1)
    assert patient.needs_every_frame
    with pytest.raises(DeviceError, match="'saving the episode' did not end"):
        patient.on_end(None)


class Watched:
    """A guardian that ends nothing, and what it did."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.left: list[int] = []
        self.stopped: list[str] = []
        self.hurried = 0
        self.guardian = Guardian(self.told.append, SHORT, self.left.append)
        self.guardian.stop_motors = self.stopped.append
        self.guardian.hurry = self.hurry

    def hurry(self) -> None:
        self.hurried += 1


def test_the_first_signal_is_raised_and_later_ones_only_hurry() -> None:
    watched, before = Watched(), signal.getsignal(signal.SIGTERM)
    with watched.guardian:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGINT):
            os.kill(os.getpid(), number)
            time.sleep(0.01)
        assert watched.hurried == 3
    assert signal.getsignal(signal.SIGTERM) is before
    assert watched.left == []


def test_while_the_motors_are_stopped_for_another_reason_no_signal_is_raised() -> None:
    watched = Watched()
    with watched.guardian:
        watched.guardian.stopping(5)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.02)
        assert watched.hurried == 1


def test_a_main_thread_that_hears_nothing_is_not_needed() -> None:
    watched = Watched()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    try:
        with watched.guardian:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
            watched.guardian.hangs(DeviceError("the policy hangs"))
            ends_s = time.monotonic() + 5
            while not watched.left and time.monotonic() < ends_s:
                time.sleep(0.01)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # drops the one that is still waiting
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])
    assert (watched.stopped, watched.left) == (["the main thread hangs"], [5])
    assert "something still hangs 0.4 s after the motors were stopped" in watched.told[0]


def test_outside_of_the_main_thread_a_guardian_hears_no_signals() -> None:
    before, errors = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        try:
            with Watched().guardian:
                pass
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert errors == [] and signal.getsignal(signal.SIGINT) is before
