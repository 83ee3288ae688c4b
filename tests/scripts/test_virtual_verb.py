"""``svm-robot virtual``: a process with a serial port that LeRobot's own driver finds its servos on."""

import re
import signal
import threading
from pathlib import Path

import pytest
from lerobot.motors import Motor, MotorCalibration, MotorNormMode
from lerobot.motors.feetech import FeetechMotorsBus
from tiny_lab import child_of_ours

from svm_robot.drivers.joints import MOTORS
from svm_robot.drivers.virtual.arm import calibration
from svm_robot.scripts.main import main

RIGS = Path(__file__).resolve().parents[2] / "rigs"


def processes_naming(text: str) -> list[str]:
    """Command lines of running processes that hold ``text``."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        found += [words] if text in words else []
    return found


def positions(port: str) -> dict[str, float]:
    """Joint positions, as LeRobot's SO-101 driver reads them."""
    modes = dict.fromkeys(MOTORS, MotorNormMode.DEGREES) | {"gripper": MotorNormMode.RANGE_0_100}
    motors = {motor: Motor(number, "sts3215", modes[motor]) for number, motor in enumerate(MOTORS, start=1)}
    bus = FeetechMotorsBus(port, motors, {motor: MotorCalibration(**row) for motor, row in calibration().items()})
    bus.connect()
    try:
        found: dict[str, float] = bus.sync_read("Present_Position", num_retry=5)
        return found
    finally:
        bus.disconnect()


def test_lerobot_s_bus_connects_and_ctrl_c_leaves_nothing_behind() -> None:
    with child_of_ours("virtual", str(RIGS / "virtual_so101_wire.yaml")) as child:
        patience = threading.Timer(90, child.kill)
        patience.start()
        try:
            assert child.stdout is not None
            said = ""
            for line in child.stdout:
                said += line
                if "Ctrl-C ends it" in line:
                    break
            port, cell = (re.search(rf"^{name} +(\S+)$", said, re.MULTILINE) for name in ("port", "cell"))
            assert port and cell, child.communicate()
            assert f"--robot.port={port[1]}" in said
            assert set(positions(port[1])) == set(MOTORS)
            assert len(processes_naming(cell[1])) == 1  # the world runs in a process of its own
            child.send_signal(signal.SIGINT)
            _, complaint = child.communicate(timeout=30)
        finally:
            patience.cancel()
            patience.join()
    assert (child.returncode, complaint) == (0, "")
    assert not Path(cell[1]).exists()
    assert processes_naming(cell[1]) == []


def test_only_the_virtual_robot_can_be_started(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["virtual", str(RIGS / "so101.yaml")]) == 2
    said = capsys.readouterr().err
    assert "describes a real robot" in said and said.count("\n") == 1
