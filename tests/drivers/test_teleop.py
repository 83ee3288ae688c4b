"""A person with a leader arm, as a policy."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from svm_robot.drivers.connect import connect
from svm_robot.drivers.limits import joint_limits
from svm_robot.drivers.teleop import TeleopPolicy
from svm_robot.errors import ConfigError, DeviceError, JointFault

JOINTS = ("a.pos", "b.pos")


class Leader:
    name = "leader"
    id = "mine"
    calibration_fpath = "calibration/mine.json"

    def __init__(self, features: Any = None, degrees: bool | None = True) -> None:
        self.action_features = features or dict.fromkeys(JOINTS, float)
        self.config = SimpleNamespace(port="/dev/x", **({} if degrees is None else {"use_degrees": degrees}))
        self.fails: Exception | None = None
        self.is_calibrated, self.is_connected, self.asked = True, False, True

    def get_action(self) -> dict[str, float]:
        if self.fails:
            raise self.fails
        return {"b.pos": 2.0, "a.pos": 1.0}

    def connect(self, calibrate: bool = True) -> None:
        if self.fails:
            raise self.fails
        self.asked = calibrate
        self.is_connected = True

    def disconnect(self) -> None:
        self.is_connected = False


@pytest.mark.parametrize(
    "features", [dict.fromkeys(JOINTS, float), {"names": list(JOINTS)}, {"names": {"a.pos": 0, "b.pos": 1}}]
)
def test_a_chunk_of_one_in_the_robots_order(features: Any) -> None:
    policy = TeleopPolicy(Leader(features), JOINTS)
    policy.reset(3)
    chunk = policy.act(SimpleNamespace(state=np.zeros(2, np.float32)))
    assert chunk.tolist() == [[1.0, 2.0]]
    assert chunk.dtype == np.float32
    assert (policy.source, policy.latent) == ("human", None)


def test_other_joints_are_named() -> None:
    with pytest.raises(ConfigError, match=r"missing a\.pos, too many delta_x"):
        TeleopPolicy(Leader({"b.pos": float, "delta_x": float}), JOINTS)


@pytest.mark.parametrize(
    ("leader", "robot", "fits"), [(True, True, True), (None, True, True), (False, None, True), (True, False, False)]
)
def test_degrees_to_percent_is_refused(leader: bool | None, robot: bool | None, fits: bool) -> None:
    if fits:
        TeleopPolicy(Leader(degrees=leader), JOINTS, robot)
    else:
        with pytest.raises(ConfigError, match=r"teleop\.use_degrees is true and robot\.use_degrees false"):
            TeleopPolicy(Leader(degrees=leader), JOINTS, robot)


def test_a_silent_leader() -> None:
    leader = Leader()
    policy = TeleopPolicy(leader, JOINTS)
    leader.fails = ConnectionError("no status packet")
    with pytest.raises(DeviceError, match="'leader' does not answer: no status packet"):
        policy.act(SimpleNamespace(state=np.zeros(2, np.float32)))


def test_connecting_asks_nothing_and_wants_a_calibration() -> None:
    leader = Leader()
    connect(leader, "teleop")
    assert not leader.asked
    leader.is_calibrated = False
    with pytest.raises(
        DeviceError, match=r"lerobot-calibrate --teleop\.type=leader --teleop\.port=/dev/x --teleop\.id=mine"
    ):
        connect(leader, "teleop")
    assert not leader.is_connected
    leader.fails = OSError("no\nsuch port")
    with pytest.raises(DeviceError, match="cannot connect teleop 'leader': no such port"):
        connect(leader, "teleop")


def test_what_cannot_be_switched_off_after_a_failed_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    leader = Leader()
    leader.is_calibrated = False
    monkeypatch.setattr(leader, "disconnect", Mock(side_effect=OSError("motor 4 does not answer")))
    with pytest.raises(DeviceError, match=r"lerobot-calibrate.*; while switching it off: motor 4 does not answer"):
        connect(leader, "teleop")


def test_a_device_that_fails_after_its_port_was_opened_is_switched_off_again() -> None:
    leader = Leader()

    def half_way(calibrate: bool = True) -> None:
        leader.is_connected = True
        raise JointFault("gripper (id 6) reports overload", "gripper", ("overload",))

    leader.connect = half_way  # type: ignore[method-assign]
    with pytest.raises(JointFault, match=r"^gripper \(id 6\) reports overload$"):
        connect(leader, "teleop")
    assert not leader.is_connected
    leader.disconnect = Mock(side_effect=OSError("motor 4 does not answer"))  # type: ignore[method-assign]
    with pytest.raises(DeviceError) as failed:
        connect(leader, "teleop")
    assert str(failed.value) == "gripper (id 6) reports overload; while switching it off: motor 4 does not answer"


def test_limits_come_from_the_calibration() -> None:
    def motor(mode: str) -> SimpleNamespace:
        return SimpleNamespace(norm_mode=SimpleNamespace(value=mode), model="sts3215")

    ends = SimpleNamespace(range_min=1024, range_max=3071)
    bus = SimpleNamespace(
        motors={"a": motor("degrees"), "b": motor("range_0_100"), "c": motor("range_m100_100")},
        calibration=dict.fromkeys(("a", "b", "c", "gone"), ends),
        model_resolution_table={"sts3215": 4096},
    )
    limits = joint_limits(SimpleNamespace(name="so101_follower", bus=bus))
    assert limits["a.pos"] == pytest.approx((-89.98, 89.98), abs=0.01)
    assert limits["b.pos"] == (0, 100)
    assert limits["c.pos"] == (-100, 100)
    assert set(limits) == {"a.pos", "b.pos", "c.pos"}
    assert joint_limits(SimpleNamespace(name="reachy2")) == {}
    assert joint_limits(SimpleNamespace(name="virtual_so101"))["gripper.pos"] == pytest.approx((0, 100))
