"""LeRobot's own command drives our virtual robot from our virtual leader arm, in a process of its own."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from svm_robot.drivers.virtual.leader import LEADER_ID, VirtualLeader

GROUP_READ = 0x82
CODE = "from lerobot.scripts.lerobot_teleoperate import main; main()"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_lerobot_teleoperate_moves_the_virtual_robot(tmp_path: Path) -> None:
    leader = VirtualLeader(tmp_path)
    leader.open()
    stop = threading.Event()

    def move() -> None:
        pan = 0.0
        while not stop.wait(0.05):
            pan = min(30.0, pan + 1.0)
            leader.pose([pan, 0, 0, 0, 0, 50])

    hand = threading.Thread(target=move)
    hand.start()
    options = [
        "--robot.discover_packages_path=svm_robot",
        "--robot.type=virtual_so101",
        "--robot.id=virtual",
        "--teleop.type=so101_leader",
        f"--teleop.port={leader.port}",
        f"--teleop.id={LEADER_ID}",
        f"--teleop.calibration_dir={tmp_path}",
        "--fps=20",
        "--teleop_time_s=2",
    ]
    try:
        done = subprocess.run([sys.executable, "-c", CODE, *options], capture_output=True, text=True, timeout=280)
    finally:
        stop.set()
        hand.join()
        leader.close()
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("Teleop loop time") >= 20, "it ran at its rate"
    assert leader.bus.counts[GROUP_READ] >= 20 and not any(servo.torque for servo in leader.bus.servos)
    assert "SOFollower disconnected" in done.stderr, "the virtual robot's arm is LeRobot's own"
