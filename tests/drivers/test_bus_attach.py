"""LeRobot's robot classes, unchanged, on our bus; and what a rig tells about it at the end."""

import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bus_toys import PATIENT, feetech_arm, feetech_chain, koch_arm, koch_chain, served
from lerobot.robots.koch_follower import KochFollower, KochFollowerConfig
from lerobot.robots.so_follower import SO101Follower, SO101FollowerConfig
from lerobot.teleoperators.so_leader import SO101Leader, SO101LeaderConfig

from svm_robot.drivers.bus.attach import attach, bus_troubles, steady_buses
from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.bus.steady import SteadyFeetechBus
from svm_robot.drivers.clock import MonotonicClock
from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
from svm_robot.drivers.connect import connect
from svm_robot.drivers.limits import joint_limits
from svm_robot.drivers.rig_env import RigEnv
from svm_robot.drivers.safety import SafetyConfig
from svm_robot.drivers.virtual.wire_faults import WireFaults
from svm_robot.drivers.virtual_so101 import VirtualSO101
from svm_robot.errors import ConfigError, DeviceError, JointFault

MAKERS: dict[str, Any] = {
    "so101": (SO101Follower, SO101FollowerConfig, feetech_chain, feetech_arm, "scservo_sdk"),
    "koch": (KochFollower, KochFollowerConfig, koch_chain, koch_arm, "dynamixel_sdk"),
}


@pytest.fixture(params=list(MAKERS))
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    kind, config, chain, arm, needs = MAKERS[request.param]
    if importlib.util.find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    with served(chain()) as wire:
        calibration = {motor: asdict(row) for motor, row in arm()[1].items()}
        (tmp_path / "it.json").write_text(json.dumps(calibration))
        robot = kind(config(port=wire.port, id="it", calibration_dir=tmp_path))
        attach(robot, PATIENT)
        connect(robot, "robot")
        env = RigEnv(
            robot,
            rate_hz=50.0,
            clock=MonotonicClock(),
            safety=SafetyConfig(),
            limits=joint_limits(robot),
            max_frame_age_s=1.0,
        )
        env.reset()
        yield env, wire
        if wire.port:
            wire.bus.set_faults(WireFaults())
            env.close()


def test_the_robot_reads_and_sends_through_our_bus(rig: Any) -> None:
    env, wire = rig
    assert len(steady_buses(env.robot)) == 1
    assert all(servo.torque for servo in wire.bus.servos)
    seen = env.observe()
    sent = env.apply(seen.state + np.float32(1.0)).sent
    env.observe()
    goals = [servo.target for servo in wire.bus.servos]
    env.apply(sent + np.float32(1.0))
    env.observe()
    assert all(servo.target > goal for servo, goal in zip(wire.bus.servos, goals, strict=True))
    assert bus_troubles(env.robot) == [] or "lost" in bus_troubles(env.robot)[0]  # a busy machine loses replies too


def test_glitches_are_counted_and_told(rig: Any) -> None:
    env, wire = rig
    wire.bus.set_faults(WireFaults(corrupt=(3, 10)))
    for _ in range(4):
        env.apply(env.observe().state)
    assert any("elbow_flex on /dev/pts/" in line and "crc 1" in line for line in bus_troubles(env.robot))


def test_a_fault_of_a_joint_comes_out_of_the_rig_as_it_is_and_everything_is_released(rig: Any) -> None:
    env, wire = rig
    wire.bus.set_faults(WireFaults(errors={6: 32}))
    state = env.observe().state
    with pytest.raises(JointFault, match=r"^gripper \(id 6\) on /dev/pts/\d+: it reports overload") as told:
        env.apply(state)
    assert told.value.joint == "gripper"
    env.close()
    assert not any(servo.torque for servo in wire.bus.servos)


def test_a_pulled_cable_is_told_once(rig: Any) -> None:
    env, wire = rig
    port = wire.port
    wire.close()
    with pytest.raises(DeviceError, match=rf"^{port} is gone .* shoulder_pan"):
        env.observe()
    with pytest.raises(DeviceError) as told:
        env.close()
    assert str(told.value).count("is gone") == 1


def test_a_leader_arm_too_and_plain_means_lerobots(tmp_path: Path) -> None:
    leader = SO101Leader(SO101LeaderConfig(port="/dev/null", id="it", calibration_dir=tmp_path))
    before = leader.bus
    attach(leader, BusConfig(plain=True))
    assert leader.bus is before
    attach(leader, BusConfig())
    assert isinstance(leader.bus, SteadyFeetechBus)
    mine = leader.bus
    attach(leader, BusConfig())
    assert leader.bus is mine, "what is ours stays"


def test_the_virtual_robot_hands_its_arm_over_before_it_connects(tmp_path: Path) -> None:
    robot = VirtualSO101(VirtualSO101Config(calibration_dir=tmp_path, cameras={}))
    attach(robot, PATIENT)
    assert steady_buses(robot) == []
    robot.connect()
    try:
        assert len(steady_buses(robot)) == 1
        assert isinstance(robot.bus, SteadyFeetechBus)
        assert len(robot.get_observation()) == 6
    finally:
        robot.disconnect()


def test_a_device_without_a_bus_is_left_alone() -> None:
    attach(object(), BusConfig())
    assert bus_troubles(object()) == []


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"retries": -1}, "bus.retries is -1"),
        ({"max_losses": 0}, "bus.max_losses 0"),
        ({"deadline_s": 0.0}, "bus.deadline_s is 0.0"),
        ({"deadline_s": float("nan")}, "bus.deadline_s is nan"),
        ({"reply_timeout_s": 1.0}, "longer than bus.deadline_s"),
        ({"max_joint_age_s": float("inf")}, "bus.max_joint_age_s is inf"),
        ({"limp_check_s": -1.0}, "bus.limp_check_s is -1.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        BusConfig(**wrong)
