"""Which arm is on a port: told by what its motors carry, also with two arms whose plugs were exchanged."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bus_toys
import pytest
from lerobot.robots.bi_so_follower import BiSOFollower, BiSOFollowerConfig
from lerobot.robots.so_follower import SOFollowerConfig

from svm_robot.drivers.bus.attach import attach
from svm_robot.drivers.fingerprint import check_arm, in_file, rival_of
from svm_robot.drivers.virtual.leader import LEADER_ID, VirtualLeader
from svm_robot.errors import DeviceError

WRITES = {0x03, 0x04, 0x05, 0x83}


@pytest.fixture
def arms(tmp_path: Path) -> Iterator[list[VirtualLeader]]:
    """A left and a right arm; their calibrations lie where LeRobot's two-armed robot looks for them."""
    made = []
    for side, shift in (("left", 0), ("right", 90)):
        arm = VirtualLeader(tmp_path, offsets=[shift + k for k in range(6)])
        arm.open()
        (tmp_path / f"{LEADER_ID}.json").rename(tmp_path / f"pair_{side}.json")
        made.append(arm)
    yield made
    for arm in made:
        arm.close()


def pair(left: VirtualLeader, right: VirtualLeader, folder: Path) -> Any:
    ends = [SOFollowerConfig(port=arm.port) for arm in (left, right)]
    robot = BiSOFollower(
        BiSOFollowerConfig(id="pair", calibration_dir=folder, left_arm_config=ends[0], right_arm_config=ends[1])
    )
    attach(robot, bus_toys.PATIENT)
    return robot


def test_two_arms_are_known_and_their_exchange_is_refused(arms: list[VirtualLeader], tmp_path: Path) -> None:
    assert check_arm(pair(*arms, tmp_path), "robot")
    with pytest.raises(DeviceError, match=r"another arm than robot\.left_arm 'pair_left'.*calibration of 'pair_right'"):
        check_arm(pair(*reversed(arms), tmp_path), "robot")
    assert not WRITES & (set(arms[0].bus.counts) | set(arms[1].bus.counts))


def test_an_arm_that_nobody_knows(arms: list[VirtualLeader], tmp_path: Path) -> None:
    (tmp_path / "pair_left.json").write_text(json.dumps({}))
    assert not check_arm(pair(*arms, tmp_path), "robot")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 3}', '{"a": {"homing_offset": 1}}'])
def test_a_file_that_is_no_calibration_is_nobodys(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert in_file(path) == {} == in_file(tmp_path / "missing.json")


def test_a_teleoperator_without_a_port_is_no_rival() -> None:
    assert rival_of(None, str) is None and rival_of(object(), str) is None
    assert rival_of(SOFollowerConfig(port="/dev/x"), lambda config: config.port) == "/dev/x"
