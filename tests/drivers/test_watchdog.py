"""Nobody commands the arm: it is held, and after longer somebody is told. On a thread, in short real time."""

import time
from collections.abc import Iterator

import numpy as np
import pytest
from safe_robots import LoggedRobot, logged_rig

from svm_robot.drivers.clock import MonotonicClock
from svm_robot.drivers.rig_env import RigEnv
from svm_robot.drivers.safety import SafetyConfig
from svm_robot.drivers.safety.guardian import Guardian
from svm_robot.drivers.safety.watchdog import Watchdog
from svm_robot.errors import ConfigError, DeviceError, StaleError


def wait_for(what: object, seconds: float = 5.0) -> None:
    ends_s = time.monotonic() + seconds
    while not what():  # type: ignore[operator]
        assert time.monotonic() < ends_s, "it never happened"
        time.sleep(0.005)


class Watched:
    """A watchdog and what it did."""

    def __init__(self, limit_s: float, hang_s: float, fails: int = 0) -> None:
        self.held: list[float] = []
        self.told: list[float] = []
        self.fails = fails
        self.dog = Watchdog(MonotonicClock(), limit_s, hang_s, self.hold, self.told.append)

    def hold(self) -> None:
        if self.fails:
            self.fails -= 1
            raise DeviceError("busy")
        self.held.append(time.monotonic())


def test_it_holds_once_and_tells_once() -> None:
    watched = Watched(0.05, 0.12)
    watched.dog.feed()
    wait_for(lambda: watched.told)
    time.sleep(0.1)
    assert (len(watched.held), len(watched.told)) == (1, 1)
    assert watched.dog.late_s >= 0.05 and watched.told[0] >= 0.12
    watched.dog.close()
    watched.dog.close()


def test_who_is_fed_does_nothing() -> None:
    watched = Watched(0.15, 0.3)
    for _ in range(30):
        watched.dog.feed()
        time.sleep(0.01)
    assert (watched.held, watched.told, watched.dog.late_s) == ([], [], 0)
    watched.dog.close()


def test_at_rest_nothing_is_late_and_it_watches_again_afterwards() -> None:
    watched = Watched(0.05, 0.0)
    watched.dog.feed()
    watched.dog.rest()
    time.sleep(0.12)
    assert watched.held == []
    watched.dog.feed()
    wait_for(lambda: watched.dog.late_s)
    watched.dog.rest()
    assert (watched.dog.late_s, len(watched.held), watched.told) == (0, 1, [])
    watched.dog.close()


def test_a_robot_that_is_busy_is_held_later_and_a_dead_one_is_told() -> None:
    busy, dead = Watched(0.05, 0.0, fails=1), Watched(0.05, 0.2, fails=10_000)
    busy.dog.feed()
    dead.dog.feed()
    wait_for(lambda: busy.held and dead.told)
    assert dead.dog.late_s == 0
    busy.dog.close()
    dead.dog.close()


def test_zero_is_never() -> None:
    watched = Watched(0.0, 0.0)
    watched.dog.feed()
    assert watched.dog._thread is None
    watched.dog.close()


@pytest.mark.parametrize("option", [{"watchdog_s": -1.0}, {"hang_s": float("nan")}, {"watchdog_s": 5.0, "hang_s": 1.0}])
def test_times_that_are_none_are_refused(option: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=r"safety\.(watchdog|hang)_s"):
        SafetyConfig(**option)


@pytest.fixture
def rig() -> Iterator[tuple[RigEnv, LoggedRobot]]:
    env, robot = logged_rig(SafetyConfig(watchdog_s=0.1, hang_s=0.0))
    env.watchdog.clock = MonotonicClock()
    env.reset()
    env.observe()
    yield env, robot
    env.close()


def test_an_arm_on_its_way_stops_where_it_is_and_the_episode_ends(rig: tuple[RigEnv, LoggedRobot]) -> None:
    env, robot = rig
    robot.pace = 4.0
    env.apply(np.array([20, 0, 55], np.float32))
    robot.advance()  # on its way: 14 of 20
    wait_for(lambda: env.watchdog.late_s)
    assert robot.sent[-1].tolist() == [14.0, 0.0, 55.0], "where it is; the gripper keeps its grip"
    for late in (lambda: env.apply(np.array([20, 0, 55], np.float32)), env.observe):
        with pytest.raises(StaleError, match=r"no command came for 0\.\d s \(safety\.watchdog_s allows 0\.1\).*held"):
            late()
    assert len(robot.sent) == 2, "what comes too late moves nothing"
    env.reset()
    env.observe()
    env.apply(np.array([15, 0, 55], np.float32))
    assert robot.sent[-1].tolist() == [15.0, 0.0, 55.0]


def test_an_arm_that_stands_at_its_target_is_left_alone(rig: tuple[RigEnv, LoggedRobot]) -> None:
    env, robot = rig
    env.apply(np.array([12, 0, 90], np.float32))
    robot.advance()
    wait_for(lambda: env.watchdog.late_s)
    assert len(robot.sent) == 1, "a new target would only let it sag"


def test_an_episode_that_is_over_may_rest_as_long_as_it_likes(rig: tuple[RigEnv, LoggedRobot]) -> None:
    env, _ = rig
    env.apply(np.array([12, 0, 50], np.float32))
    env.rest()
    time.sleep(0.2)
    assert env.watchdog.late_s == 0


def test_while_somebody_talks_to_the_robot_the_watchdog_waits(rig: tuple[RigEnv, LoggedRobot]) -> None:
    env, robot = rig
    robot.pace = 1.0
    env.apply(np.array([20, 0, 50], np.float32))
    with env.link.turn():
        time.sleep(0.25)
        assert len(robot.sent) == 1, "nobody writes between a request and its reply"
    wait_for(lambda: env.watchdog.late_s)
    assert len(robot.sent) == 2


def test_whoever_hangs_is_interrupted_with_what_was_wrong() -> None:
    with Guardian(lambda _: None) as guardian:
        env, robot = logged_rig(SafetyConfig(watchdog_s=0.05, hang_s=0.15), guardian=guardian)
        env.watchdog.clock = MonotonicClock()
        env.reset()
        env.observe()
        env.apply(np.array([12, 0, 50], np.float32))
        with pytest.raises(DeviceError, match=r"nothing was commanded for 0\.\d s \(safety\.hang_s\).*hangs") as hang:
            time.sleep(5)  # a policy that does not come back
        env.rest(hang.value)
        env.close()
    assert [what for what, _ in robot.log][-3:] == ["off"] * 3
