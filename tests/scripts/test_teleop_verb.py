"""``svm-robot teleop``: the virtual robot over the wire, driven with keys on a terminal and with a leader arm."""

import importlib.util
import io
import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typist import Typist

from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
from svm_robot.drivers.virtual.cell import VirtualCell
from svm_robot.drivers.virtual.leader import LEADER_ID, VirtualLeader
from svm_robot.scripts.main import main

PATIENT = "bus: {reply_timeout_s: 0.1, deadline_s: 1.0, max_joint_age_s: 2.0, limp_check_s: 0}\nmax_frame_age_s: 2\n"
PATIENT += "safety: {watchdog_s: 5, hang_s: 20}\n"
WRITES = {0x03, 0x04, 0x05, 0x83}


@pytest.fixture
def cell() -> Iterator[VirtualCell]:
    made = VirtualCell(VirtualSO101Config(cameras={}).cell_options())
    made.open()
    yield made
    made.close()


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[VirtualLeader]:
    made = VirtualLeader(tmp_path)
    made.open()
    yield made
    made.close()


def rig_file(folder: Path, robot_port: str, calibration: Path, leader_port: str = "") -> str:
    robot = {"type": "so101_follower", "port": robot_port, "id": "virtual", "calibration_dir": str(calibration)}
    text = f"robot: {json.dumps(robot)}\n{PATIENT}dataset_root: {folder}/data\n"
    if leader_port:
        teleop = {"type": "so101_leader", "port": leader_port, "id": LEADER_ID, "calibration_dir": str(folder)}
        text += f"teleop: {json.dumps(teleop)}\n"
    path = folder / "rig.yaml"
    path.write_text(text)
    return str(path)


def joints_told(line: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r">?(\w+) (-?\d+\.\d)(?:  | \||$)", line)}


def test_joints_follow_the_keys_and_q_ends_it(
    cell: VirtualCell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cell.folder is not None
    rig = rig_file(tmp_path, cell.port, cell.folder)
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stdout", screen)
    typing = [(4.0, b"4\x1b[C")] + [(0.3, b"\x1b[A")] * 5 + [(2.0, b"q")]
    with Typist(*typing) as typist:
        monkeypatch.setattr(sys, "stdin", typist.keys)
        assert main(["teleop", rig]) == 0
    lines = [line for line in screen.getvalue().splitlines() if " Hz | " in line]
    first, last = joints_told(lines[1]), joints_told(lines[-1])
    assert last["wrist_roll"] - first["wrist_roll"] == pytest.approx(10, abs=3)
    assert abs(last["shoulder_pan"] - first["shoulder_pan"]) < 2
    assert ">wrist_roll" in lines[-1] and "q stops" in capsys.readouterr().err
    assert re.match(r"\s*\d+\.\d Hz", lines[-1])
    assert cell.status()["torque"] == [False] * 6


def test_the_follower_moves_as_the_leader_does_and_time_ends_it(
    cell: VirtualCell, leader: VirtualLeader, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cell.folder is not None
    rig = rig_file(tmp_path, cell.port, cell.folder, leader.port)
    leader.pose([40, 0, 0, 0, 0, 50])
    stop = threading.Event()

    def move() -> None:
        pan = 40.0
        while not stop.wait(0.1):
            pan = max(-20.0, pan - 1.0)
            leader.pose([pan, 0, 0, 0, 0, 50])

    person = threading.Thread(target=move)
    person.start()
    try:
        assert main(["teleop", rig, "--seconds=5"]) == 0
    finally:
        stop.set()
        person.join()
    told = capsys.readouterr().out.splitlines()
    lines = [joints_told(line) for line in told if " Hz | " in line]
    assert lines[-1]["shoulder_pan"] < lines[0]["shoulder_pan"] - 8, told
    assert "apart" in told[0]
    assert not any(servo.torque for servo in leader.bus.servos)


def test_exchanged_ports_are_refused_before_anything_is_written(
    leader: VirtualLeader, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f").mkdir()
    follower = VirtualLeader(tmp_path / "f", offsets=tuple(range(6)))
    follower.open()
    (tmp_path / "f" / f"{LEADER_ID}.json").rename(tmp_path / "f" / "virtual.json")
    try:
        rig = rig_file(tmp_path, leader.port, tmp_path / "f", follower.port)
        assert main(["teleop", rig, "--seconds=1"]) == 5
    finally:
        follower.close()
    said = capsys.readouterr().err
    assert f"the ports of robot and teleop are exchanged: on {leader.port} is the arm '{LEADER_ID}'" in said
    assert not WRITES & (set(leader.bus.counts) | set(follower.bus.counts))


def test_an_arm_of_another_id_is_refused_before_anything_is_written(
    leader: VirtualLeader, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: dict[str, Any] = json.loads((tmp_path / f"{LEADER_ID}.json").read_text())
    (tmp_path / "virtual.json").write_text(
        json.dumps({motor: {**row, "homing_offset": 3} for motor, row in rows.items()})
    )
    assert main(["teleop", rig_file(tmp_path, leader.port, tmp_path), "--by=leader"]) == 5
    assert f"its motors carry the calibration of '{LEADER_ID}'" in capsys.readouterr().err
    assert not WRITES & set(leader.bus.counts)


@pytest.mark.parametrize("calibrated", [True, False])
def test_an_unknown_or_uncalibrated_arm_is_refused_before_anything_is_written(
    calibrated: bool, leader: VirtualLeader, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: dict[str, Any] = json.loads((tmp_path / f"{LEADER_ID}.json").read_text())
    (tmp_path / f"{LEADER_ID}.json").unlink()
    if calibrated:
        (tmp_path / "virtual.json").write_text(json.dumps({m: {**row, "range_min": 5} for m, row in rows.items()}))
    assert main(["teleop", rig_file(tmp_path, leader.port, tmp_path), "--by=leader"]) == 5
    said = capsys.readouterr().err
    assert f"lerobot-calibrate --robot.type=so101_follower --robot.port={leader.port} --robot.id=virtual" in said
    assert not WRITES & set(leader.bus.counts)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--seconds=-1"], "seconds is -1.0"),
        (["--by=hand"], "hand"),
        (["--by=keyboard"], "standard input is no terminal"),
    ],
)
def test_wrong_use(words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = rig_file(tmp_path, "/dev/ttyACM77", tmp_path)
    assert main(["teleop", rig, *words]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "says"),
    [("gamepad", "teleop 'gamepad' cannot be used here: "), ("keyboard", "--by=keyboard")],
)
def test_a_library_that_is_missing_is_one_line(
    kind: str, says: str, cell: VirtualCell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if any(importlib.util.find_spec(name) for name in ("pygame", "pynput")):
        pytest.skip("the libraries are installed here")
    assert cell.folder is not None
    assert main(["teleop", rig_file(tmp_path, cell.port, cell.folder), f"--teleop.type={kind}"]) == 2
    assert says in capsys.readouterr().err
    assert cell.status()["torque"] == [False] * 6


def test_a_lockstep_robot_has_no_time_for_a_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rig.yaml"
    path.write_text("robot: {type: virtual_so101, link: lockstep}\n")
    assert main(["teleop", str(path), "--by=leader"]) == 2
    assert "a person needs real time" in capsys.readouterr().err
