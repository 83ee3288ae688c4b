"""One recording session of ``svm-robot record`` in a process of its own, with one part that fails or hangs.

Leader and follower are LeRobot's SO-101 classes on two virtual wires; nothing but the broken part is replaced.
"""

import copy
import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from svm_robot.drivers.joints import MOTORS
from svm_robot.drivers.safety.steps import Steps, StopTimes
from svm_robot.drivers.virtual.arm import HOMING_OFFSETS, calibration, factory_servos
from svm_robot.drivers.virtual.bus import Bus
from svm_robot.drivers.virtual.servo import GOAL_POSITION
from svm_robot.drivers.virtual.wire import Wire
from svm_robot.errors import DataError, DeviceError

TIMES = StopTimes(hold_s=0.6, torque_s=1.0, save_s=0.6, close_s=0.5, grace_s=0.4, exit_s=2.5)
"""Short, so that whoever hangs is given up soon."""
TROUBLE_AT = 4
"""The control step in which the part breaks and the signal comes."""
MIDDLE = 2048

Say = Callable[..., None]


def serve(ask: int, tell: int) -> None:
    """The process of the two arms: servos that follow their goals, until nobody asks any more (``ask`` is closed)."""
    leader, follower = (Bus(factory_servos()) for _ in range(2))
    wires = [Wire(leader), Wire(follower)]
    for wire in wires:
        wire.open()
    os.write(tell, json.dumps([wire.port for wire in wires]).encode() + b"\n")
    over = threading.Event()
    mover = threading.Thread(target=_follow, args=(leader, follower, over))
    mover.start()
    while os.read(ask, 1):
        os.write(tell, json.dumps([servo.torque for servo in follower.servos]).encode() + b"\n")
    over.set()
    mover.join()
    for wire in wires:
        wire.close()


def _follow(leader: Bus, follower: Bus, over: threading.Event) -> None:
    began_s = time.perf_counter()
    while not over.wait(0.01):
        swing = round(150 * math.sin(2 * (time.perf_counter() - began_s)))
        for servo, offset in zip(leader.servos, HOMING_OFFSETS, strict=True):
            servo.measure(MIDDLE + offset + swing, 0, 0.0)
        for servo, offset in zip(follower.servos, HOMING_OFFSETS, strict=True):
            goal = servo.get(GOAL_POSITION)
            servo.measure((goal if servo.torque and goal else MIDDLE) + offset, 0, 0.0)


class Camera:
    """Noise at once, whenever it is asked."""

    width = height = 32
    fps = 30
    is_connected = True

    def __init__(self) -> None:
        self.noise = np.random.default_rng(0)

    def connect(self, warmup: bool = True) -> None:
        """It is there."""

    def read_latest(self, max_age_ms: float = 500.0) -> Any:
        """(32, 32, 3)."""
        return self.noise.integers(0, 255, (32, 32, 3), np.uint8)

    @property
    def latest_timestamp(self) -> float:
        """Now."""
        return time.perf_counter()

    def disconnect(self) -> None:
        """It stays open for others."""


class Judge:
    """Nobody at the keys."""

    def begin(self, episode: int) -> None:
        """At once."""

    def poll(self, step: Any) -> str | None:
        """No verdict."""
        return None

    def outcome(self) -> str:
        """At the time limit."""
        return "failure"

    def wants_to_stop(self) -> bool:
        """Never."""
        return False

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *error: object) -> None: ...


def breaking(kind: str, error: Exception, deaf: bool = False) -> Callable[..., Any]:
    """What the part does instead of its work. ``deaf``: as a library that never lets Python see a signal."""

    def broken(*arguments: Any, **named: Any) -> Any:
        if kind == "fails":
            raise error
        if deaf:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        while True:
            time.sleep(60)

    return broken


def session(part: str, kind: str, nan: bool, ports: list[str], folder: Path, config: Any, say: Say) -> int:
    """Run the verb; returns its exit code.

    ``nan``: the exception in the loop is an action that is no number. ``config``: what ``RIG`` says, read once for all.
    """
    from lerobot.robots import make_robot_from_config as make_robot
    from lerobot.teleoperators import make_teleoperator_from_config as make_leader

    from svm_robot.recording.recorder import Recorder
    from svm_robot.scripts import evaluate, main, record_console

    steps_taken = 0

    def robot(config: Any) -> Any:
        arm = make_robot(config)
        arm.cameras["front"] = Camera()
        arm.__dict__["observation_features"] = {**arm.action_features, "front": (32, 32, 3)}
        send = arm.send_action
        if part == "camera close":
            Camera.disconnect = breaking(kind, OSError("the camera is stuck"))  # type: ignore[method-assign]

        def counted(action: Any) -> Any:
            nonlocal steps_taken
            steps_taken += 1
            if steps_taken == TROUBLE_AT:
                say("moving")
                if part == "follower bus":
                    broken = breaking(kind, OSError("the follower's port is gone"))
                    arm.bus.sync_read = arm.bus.sync_write = arm.bus.write = arm.bus.disable_torque = broken
            return send(action)

        arm.send_action = counted
        return arm

    def leader(config: Any) -> Any:
        arm = make_leader(config)
        get_action = arm.get_action

        def asked() -> Any:
            if steps_taken >= TROUBLE_AT:
                if part.startswith("policy"):
                    breaking(kind, DeviceError("the policy broke"), deaf="deaf" in part)()
                if nan:
                    return {f"{motor}.pos": math.nan for motor in MOTORS}
            return get_action()

        arm.get_action = asked
        if part == "leader bus":
            arm.disconnect = breaking(kind, OSError("the leader's port is gone"))
        return arm

    run, defaults = Steps.run, StopTimes.__init__.__defaults__

    def logged(steps: Steps, name: str, action: Any, timeout_s: float) -> Any:
        try:
            return run(steps, name, action, timeout_s)
        finally:
            say("step", str(next(done for done in reversed(steps.log) if done.name == name)))

    StopTimes.__init__.__defaults__ = tuple(vars(TIMES).values())
    prepare(folder, ports)
    patches = [
        patch("svm_robot.scripts.cli.parse", lambda *_, **__: copy.deepcopy(config)),
        patch("lerobot.robots.make_robot_from_config", robot),
        patch("lerobot.teleoperators.make_teleoperator_from_config", leader),
        patch.object(evaluate, "who_judges", lambda cell, judge: Judge()),
        patch.object(Steps, "run", logged),
    ]
    if part == "save":
        patches.append(patch.object(Recorder, "on_end", breaking(kind, DataError("the encoder broke"))))
    if part == "dataset close":
        patches.append(patch.object(Recorder, "close", breaking(kind, DataError("the lock is lost"))))
    if part == "display":
        patches.append(patch.object(record_console.Console, "interrupted", breaking(kind, OSError("no terminal"))))
    for one in patches:
        one.start()
    try:
        return main.main(COMMAND)
    finally:
        StopTimes.__init__.__defaults__ = defaults
        sys.stdout.flush()


RIG = """
robot: {type: so101_follower, port: follower.port, id: follower, calibration_dir: .}
teleop: {type: so101_leader, port: leader.port, id: leader, calibration_dir: .}
rate_hz: 30
episode_s: 20
task: swing
bus: {retries: 4, deadline_s: 0.5, reply_timeout_s: 0.1, max_joint_age_s: 2.0, limp_check_s: 0}
safety: {watchdog_s: 0.3, hang_s: 0.8}
max_frame_age_s: 2.0
"""
"""In the folder of the session; the ports are links to the wires."""
COMMAND = ["record", "rig.yaml", "--episodes=1", "--control=teleop", "--dataset=dataset"]


def prepare(folder: Path, ports: list[str]) -> None:
    """The files that the command line names; ``ports``: of leader and follower."""
    for name, port in zip(("leader", "follower"), ports, strict=True):
        (folder / f"{name}.json").write_text(json.dumps(calibration()))
        (folder / f"{name}.port").symlink_to(port)
    (folder / "rig.yaml").write_text(RIG)
    os.chdir(folder)
