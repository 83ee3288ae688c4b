"""LeRobot's SO-101 driver on a wire, behind our limits: what the servos see when actions or motors fail."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bus_toys import PATIENT, feetech_chain, served
from lerobot.robots.so_follower import SO101Follower, SO101FollowerConfig

from svm_robot.drivers.bus.attach import attach
from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.clock import MonotonicClock
from svm_robot.drivers.kinematics import known_kinematics
from svm_robot.drivers.limits import joint_limits
from svm_robot.drivers.rig_env import RigEnv
from svm_robot.drivers.safety import MotorLimits, SafetyConfig
from svm_robot.drivers.virtual.arm import calibration
from svm_robot.drivers.virtual.bus import Bus
from svm_robot.drivers.virtual.protocol import Instruction
from svm_robot.drivers.virtual.servo import GOAL_POSITION, TORQUE_ENABLE, Register
from svm_robot.drivers.virtual.wire_faults import WireFaults
from svm_robot.errors import DeviceError, JointFault, UnsafeActionError
from svm_robot.rollout import EpisodeEnd, Outcome, Step, run_episode

TEMPERATURE, LOAD = Register(63, 1), Register(60, 2, sign_bit=10)


@dataclass
class Arm:
    """Both ends of the wire."""

    chain: Bus
    rig: RigEnv
    robot: Any

    @property
    def goals(self) -> list[int]:
        return [servo.get(GOAL_POSITION) for servo in self.chain.servos]

    @property
    def torque(self) -> list[bool]:
        return [servo.torque for servo in self.chain.servos]

    @property
    def goal_writes(self) -> int:
        return self.chain.counts.get(Instruction.SYNC_WRITE, 0)


def connected(folder: Path, chain: Bus, port: str, safety: SafetyConfig, bus: BusConfig, degrees: bool) -> Arm:
    (folder / "arm.json").write_text(json.dumps(calibration()))
    robot = SO101Follower(SO101FollowerConfig(port=port, id="arm", calibration_dir=folder, use_degrees=degrees))
    attach(robot, bus)
    robot.connect(calibrate=False)
    rig = RigEnv(
        robot,
        rate_hz=30.0,
        clock=MonotonicClock(),
        safety=safety,
        limits=joint_limits(robot),
        max_frame_age_s=1.0,
        kinematics=known_kinematics(robot, tuple(robot.action_features)),
    )
    return Arm(chain, rig, robot)


@pytest.fixture
def arm(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Arm]:
    options: dict[str, Any] = {
        "safety": SafetyConfig(max_speed=1e6, max_gripper_speed=1e6),
        "bus": PATIENT,
        "degrees": True,
    }
    options |= getattr(request, "param", {})
    chain = feetech_chain()
    with served(chain) as wire:
        made = connected(tmp_path, chain, wire.port, **options)
        made.rig.reset()
        yield made
        with suppress(DeviceError):  # what a test has broken on purpose
            made.rig.close()


@pytest.mark.parametrize("wild", [720.0, 3000.0, 1e30])
def test_in_degrees_a_wild_target_ends_at_the_calibrated_range_and_no_loop(arm: Arm, wild: float) -> None:
    arm.rig.observe()
    for sign in (1, -1):
        applied = arm.rig.apply(np.full(6, sign * wild, np.float32))
        assert applied.clipped
        arm.rig.observe()  # the servos' answer comes after the goals that were sent before it
        for goal, ends in zip(arm.goals, calibration().values(), strict=True):
            assert ends["range_min"] - 1 <= goal <= ends["range_max"] + 1


@pytest.mark.parametrize("arm", [{"degrees": False}], indirect=True)
def test_in_percent_too(arm: Arm) -> None:
    arm.rig.observe()
    assert arm.rig.apply(np.full(6, 500, np.float32)).sent.tolist() == [100.0] * 6


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_writes_nothing_in_its_tick(arm: Arm, bad: float) -> None:
    seen = arm.rig.observe()
    arm.rig.apply(seen.state + 2)
    arm.rig.observe()
    before, goals = arm.goal_writes, arm.goals
    action = seen.state + 2
    action[1] = bad
    with pytest.raises(UnsafeActionError, match=r"shoulder_lift\.pos"):
        arm.rig.apply(action)
    arm.rig.observe()
    assert (arm.goal_writes, arm.goals) == (before, goals), "the last good target holds; none is a limit"


class Walks:
    """A policy whose step 5 is no number."""

    source, latent = "policy", None

    def __init__(self, bad_at: int) -> None:
        self.bad_at, self.asked = bad_at, 0

    def reset(self, seed: int | None = None) -> None: ...

    def act(self, observation: Any) -> Any:
        self.asked += 1
        chunk = observation.state[None].copy()
        if self.asked > self.bad_at:
            chunk[0, 2] = np.nan
        return chunk


class Nobody:
    def begin(self, episode: int) -> None: ...

    def poll(self, step: Step) -> str | None:
        return None

    def outcome(self) -> str:
        return "failure"

    def wants_to_stop(self) -> bool:
        return False


class Ends:
    """How the episode ended, and whether the motors were on then."""

    needs_every_frame = False

    def __init__(self, arm: Arm) -> None:
        self.arm, self.end, self.torque = arm, None, None  # type: tuple[Arm, EpisodeEnd | None, list[bool] | None]

    def on_start(self, start: object) -> None: ...

    def on_step(self, step: Step) -> None: ...

    def on_end(self, end: EpisodeEnd) -> None:
        self.end, self.torque = end, self.arm.torque


def test_an_episode_with_such_a_number_ends_aborted_and_the_motors_are_off_before_anybody_saves(arm: Arm) -> None:
    ends = Ends(arm)
    with pytest.raises(UnsafeActionError):
        run_episode(arm.rig, Walks(bad_at=5), Nobody(), max_steps=30, listeners=[ends])
    assert ends.end is not None and ends.end.outcome is Outcome.ABORTED and "elbow_flex.pos = nan" in ends.end.reason
    assert (ends.end.steps, ends.torque) == (5, [False] * 6)


@pytest.mark.parametrize("arm", [{"bus": replace(PATIENT, limp_check_s=0.05)}], indirect=True)
def test_a_joint_that_has_gone_limp_is_named_not_moved_and_the_others_let_go(arm: Arm) -> None:
    def limp() -> None:
        for tick in range(60):
            seen = arm.rig.observe()
            arm.rig.apply(seen.state)
            if tick == 2:
                with arm.chain.lock:
                    arm.chain.servos[3].set(TORQUE_ENABLE, 0)

    with pytest.raises(JointFault, match=r"wrist_flex \(id 4\) on /dev/pts/.*torque is off") as fault:
        limp()
    assert fault.value.joint == "wrist_flex"
    goal = arm.goals[3]
    with arm.chain.lock:
        arm.chain.servos[3].measure(2500, 0, 0.0)
    arm.rig.rest(fault.value)
    assert (arm.goals[3], arm.torque) == (goal, [False] * 6)
    arm.rig.close()


def test_an_overloaded_gripper_is_told_once_and_the_shutdown_completes(arm: Arm) -> None:
    arm.rig.observe()
    arm.chain.set_faults(WireFaults(errors={6: 0x20}))
    with pytest.raises(JointFault, match=r"gripper \(id 6\).*overload") as fault:
        for _ in range(3):
            arm.rig.apply(arm.rig.observe().state)
    writes = arm.chain.counts.get(Instruction.WRITE, 0)
    arm.rig.rest(fault.value)
    arm.rig.close()
    assert arm.torque == [False] * 6
    assert arm.chain.counts[Instruction.WRITE] - writes <= 24, "no storm of retries"


def test_a_dead_motor_does_not_keep_the_others_on(arm: Arm) -> None:
    arm.rig.observe()
    arm.chain.set_faults(WireFaults(dead=(4,)))
    with pytest.raises(DeviceError, match=r"wrist_flex \(id 4\).*cut its power"):
        arm.rig.close()
    assert [on for number, on in enumerate(arm.torque, start=1) if number != 4] == [False] * 5


MOTORS = {"safety": SafetyConfig(motors=MotorLimits(max_load=60, overload_s=0.0, every_ticks=1))}


@pytest.mark.parametrize("arm", [MOTORS], indirect=True)
@pytest.mark.parametrize(
    ("register", "value", "says"),
    [(TEMPERATURE, 72, "elbow_flex .*: temperature 72 deg C"), (LOAD, -700, "elbow_flex .*: load 70 %")],
)
def test_heat_and_strain_are_read_from_the_servos(arm: Arm, register: Register, value: int, says: str) -> None:
    for _ in range(3):
        arm.rig.apply(arm.rig.observe().state)
    with arm.chain.lock:
        arm.chain.servos[2].set(register, value)
    with pytest.raises(JointFault, match=says) as fault:
        for _ in range(3):
            arm.rig.apply(arm.rig.observe().state)
    assert fault.value.joint == "elbow_flex"


@pytest.mark.parametrize("arm", [{"safety": SafetyConfig(workspace={"z": [0.15, 0.5]})}], indirect=True)
def test_the_box_holds_on_lerobots_so101(arm: Arm) -> None:
    arm.rig.observe()
    box = arm.rig.safety.workspace
    assert box is not None
    for _ in range(40):
        sent = arm.rig.apply(np.array([0, 90, 0, 0, 0, 50], np.float32)).sent
        arm.rig.observe()
    assert box.kinematics.tip(sent)[2] >= 0.15 - 1e-6
    assert sent[1] < 80, "leaning forward is stopped before the table"
