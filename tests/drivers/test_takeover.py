"""A person takes the robot from a policy and gives it back: no jump, and the record says who acted."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import toys
from lerobot.teleoperators.gamepad import GamepadTeleop, GamepadTeleopConfig
from lerobot.teleoperators.so_leader import SO101Leader, SO101LeaderConfig

from svm_robot.drivers.connect import connect
from svm_robot.drivers.joints import JOINTS
from svm_robot.drivers.safety import Safety, SafetyConfig
from svm_robot.drivers.shutdown import shut_down
from svm_robot.drivers.teleop import TeleopPolicy
from svm_robot.drivers.teleop.gamepad import STRIDE, GamepadHand
from svm_robot.drivers.teleop.hand import Hand, RelativeHand
from svm_robot.drivers.teleop.jog import AHEAD, JogHand
from svm_robot.drivers.teleop.takeover import TakeOver
from svm_robot.drivers.virtual.leader import LEADER_ID, VirtualLeader
from svm_robot.errors import ConfigError, DeviceError
from svm_robot.rollout import run_episode


def seen(*state: float) -> Any:
    return SimpleNamespace(state=np.array(state, np.float32))


class Stick:
    """A leader arm of two joints, where a test puts it."""

    name, config = "stick", SimpleNamespace(use_degrees=True)
    action_features: dict[str, Any] = dict.fromkeys(("a.pos", "b.pos"), float)

    def __init__(self) -> None:
        self.at = np.zeros(2)

    def get_action(self) -> dict[str, float]:
        return {"a.pos": self.at[0], "b.pos": self.at[1]}


class LimitedEnv(toys.ToyEnv):
    """The toy world behind the real step limits."""

    def __init__(self) -> None:
        self.limits = Safety(SafetyConfig(max_speed=80.0), ("a.pos", "b.pos"), {}, 10.0)
        self.sent: list[Any] = []
        super().__init__()

    def apply(self, action: Any) -> Any:
        applied = self.limits.limit(action, self.target)
        self.target = np.asarray(applied.sent, np.float32)
        self.sent.append(self.target.copy())
        return applied


class Script:
    """An operator that does something at some steps, and never ends an episode."""

    def __init__(self, acts: dict[int, Any]) -> None:
        self.acts = acts

    def begin(self, episode: int) -> None: ...

    def poll(self, step: Any) -> str | None:
        if step.index in self.acts:
            self.acts[step.index]()
        return None

    def outcome(self) -> str:
        return "success"

    def wants_to_stop(self) -> bool:
        return False


class Witness:
    needs_every_frame = False

    def __init__(self) -> None:
        self.steps: list[Any] = []

    def on_start(self, start: object) -> None: ...

    def on_step(self, step: Any) -> None:
        self.steps.append(step)

    def on_end(self, end: object) -> None: ...


@pytest.mark.parametrize("kind", ["leader", "keyboard"])
def test_taking_over_and_giving_back_in_mid_episode(kind: str) -> None:
    env, stick, witness = LimitedEnv(), Stick(), Witness()
    stick.at[:] = (-70, 40)  # far from where the robot is: an absolute leader would pull it there
    joints = env.spec.joints
    hand: Hand = RelativeHand(TeleopPolicy(stick, joints)) if kind == "leader" else JogHand(joints)
    policy = toys.ToyPolicy(chunk=4)
    both = TakeOver(policy, hand)

    def move() -> None:
        stick.at[0] -= 3
        both.press("down")

    acts = {4: lambda: both.press("t"), 7: move, 10: lambda: both.press("t")}
    run_episode(env, both, Script(acts), max_steps=16, seed=1, listeners=[both, witness])
    steps = witness.steps
    assert [step.source for step in steps] == ["policy"] * 5 + ["human"] * 6 + ["policy"] * 5
    assert all((step.latent is None) == (step.source == "human") for step in steps)
    sent = np.array([step.sent for step in steps])
    assert np.abs(np.diff(sent, axis=0)).max() <= 8.0 + 1e-4, "no step above the limit, also at the hand-overs"
    np.testing.assert_array_equal(steps[5].requested, steps[4].sent)
    assert not steps[5].clipped, "the person begins where the last command was"
    np.testing.assert_array_equal(sent[5:8], np.repeat(sent[4:5], 3, axis=0))
    assert sent[8, 0] == pytest.approx(sent[7, 0] - (3 if kind == "leader" else 2), abs=1.6)
    assert steps[11].decision, "the policy decides anew, the rest of its old chunk is forgotten"


def test_a_policy_that_counts_steps_is_told_how_many_are_over() -> None:
    env, told = toys.ToyEnv(), []

    class Counting(toys.ToyPolicy):
        def resume(self, step: int) -> None:
            told.append(step)

    both = TakeOver(Counting(chunk=3), JogHand(env.spec.joints))
    acts = {1: lambda: both.press("t"), 4: lambda: both.press("t")}
    run_episode(env, both, Script(acts), max_steps=8, seed=0, listeners=[both])
    assert told == [5]


def test_every_episode_begins_with_the_policy_and_forgets_the_hand() -> None:
    env = toys.ToyEnv()
    both = TakeOver(toys.ToyPolicy(), JogHand(env.spec.joints))
    for _ in range(2):
        acts = {0: lambda: both.press("t"), 1: lambda: both.press("up")}
        witness = Witness()
        run_episode(env, both, Script(acts), max_steps=4, seed=0, listeners=[both, witness])
        assert [step.source for step in witness.steps] == ["policy", "human", "human", "human"]


def test_keys_before_the_take_over_move_nothing() -> None:
    hand = JogHand(("a.pos",))
    both = TakeOver(toys.ToyPolicy(), hand)
    both.reset(0)
    for key in ("up", "up", "t"):
        both.press(key)
    assert both.act(seen(5.0)).tolist() == [[5.0]]


def test_leader_and_follower_come_together_only_by_the_leaders_motion() -> None:
    stick = Stick()
    hand = RelativeHand(TeleopPolicy(stick, ("a.pos", "b.pos")))
    hand.begin(np.array([20, 0], np.float32))
    assert hand.act(seen(0, 0)).tolist() == [[20, 0]] and hand.distance == 20
    assert hand.act(seen(0, 0)).tolist() == [[20, 0]], "nothing moves by itself"
    before = np.array([20.0, 0.0])
    for position in [*np.arange(0, 30, 2.0), *np.arange(30, -30, -2.0)]:
        stick.at[0] = position
        now = hand.act(seen(0, 0))[0]
        assert abs(now[0] - before[0]) <= 3.0 + 1e-5
        before = now
    assert hand.distance == 0 and before[0] == pytest.approx(-28)


def test_jogging_with_keys() -> None:
    hand = JogHand(("a.pos", "gripper.pos"), {"a.pos": (-5.0, 5.0)})
    hand.reset()
    assert hand.act(seen(1, 50)).tolist() == [[1, 50]]
    assert hand.act(seen(0.2, 49)).tolist() == [[1, 50]], "an arm that sags does not creep down"
    hand.press("up")
    hand.press("o")
    assert hand.act(seen(1, 50)).tolist() == [[3, 54]]
    for _ in range(4):
        hand.press("up")
    assert hand.act(seen(3, 54)).tolist() == [[5, 54]], "not beyond its range"
    hand.press("2")
    hand.press("-")
    for _ in range(60):
        hand.press("down")
    assert hand.joint == "gripper.pos"
    assert hand.act(seen(3, 54))[0][1] == 54 - AHEAD, "keys that queue up do not run away"
    for key in ("right", "left", "left", "9", "x", "escape", "0"):
        hand.press(key)
    assert (hand.joint, hand.step) == ("a.pos", 1.0)
    for _ in range(9):
        hand.press("+")
    assert hand.step == 16


class Pad:
    """In place of LeRobot's controller, which needs pygame and a gamepad."""

    def __init__(self) -> None:
        self.deltas, self.grip, self.trigger, self.stopped = (0.0, 0.0, 0.0), "stay", False, False

    def update(self) -> None: ...

    def get_deltas(self) -> tuple[float, float, float]:
        return self.deltas

    def gripper_command(self) -> str:
        return self.grip

    def should_intervene(self) -> bool:
        return self.trigger

    def get_episode_end_status(self) -> None: ...

    def stop(self) -> None:
        self.stopped = True


def test_a_gamepad_through_lerobots_own_class() -> None:
    device, pad = GamepadTeleop(GamepadTeleopConfig()), Pad()
    device.gamepad = pad
    hand = GamepadHand(device, ("pan.pos", "lift.pos", "elbow.pos", "gripper.pos"))
    hand.begin(np.zeros(4, np.float32))
    pad.deltas, pad.grip = (0.5, -1.0, 0.0), "open"
    assert hand.act(seen(0, 0, 0, 0)).tolist() == [[-STRIDE, STRIDE / 2, 0, 2 * STRIDE]]
    pad.deltas, pad.grip = (0, 0, 0), "stay"
    assert hand.act(seen(9, 9, 9, 9)).tolist() == [[-STRIDE, STRIDE / 2, 0, 2 * STRIDE]]
    both = TakeOver(toys.ToyPolicy(), hand)
    both.reset(0)
    step = SimpleNamespace(sent=np.zeros(4), index=0)
    for pad.trigger in (True, False):
        both.on_step(step)
        assert both.taken == pad.trigger
    device.disconnect()
    with pytest.raises(DeviceError, match="gamepad does not answer"):
        hand.act(seen(0, 0, 0, 0))


def test_a_teleoperator_without_sticks_is_no_gamepad() -> None:
    with pytest.raises(ConfigError, match="no stick deltas"):
        GamepadHand(SimpleNamespace(name="x", action_features={"names": {"a.pos": 0}}), ("a.pos",))


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[VirtualLeader]:
    made = VirtualLeader(tmp_path)
    made.open()
    yield made
    made.close()


def test_lerobots_leader_class_on_the_virtual_leader(leader: VirtualLeader, tmp_path: Path) -> None:
    config = SO101LeaderConfig(port=leader.port, id=LEADER_ID, calibration_dir=tmp_path, use_degrees=True)
    device = SO101Leader(config)
    connect(device, "teleop")
    try:
        policy = TeleopPolicy(device, JOINTS, True)
        for pose in ([0, 0, 0, 0, 0, 50], [30, -40, 20, 10, -60, 80]):
            leader.pose(pose)
            np.testing.assert_allclose(policy.act(seen(*pose))[0], pose, atol=0.2)
    finally:
        assert not shut_down(device)
