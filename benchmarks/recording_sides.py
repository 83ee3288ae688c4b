"""The two sides of ``recording_long.py``: our loop and recorder, and ``record_loop`` of ``lerobot-record``."""

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from paced_devices import JOINTS, ROLES, SIZE, PacedLeader, PacedRobot

RATE_HZ = 30
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Meter:
    """What one episode cost, on the loop's own thread and in the whole process."""

    robot: PacedRobot
    waited_s: float = 0.0
    pause_s: float = 0.0

    def wait(self, seconds: float) -> None:
        """Sleep, and count it as waiting."""
        begun = time.perf_counter()
        time.sleep(max(0.0, seconds))
        self.waited_s += time.perf_counter() - begun

    def episode(self, run: Callable[[], None], save: Callable[[], None]) -> dict[str, Any]:
        """Measure an episode and the pause after it."""
        for camera in self.robot.cameras.values():
            camera.start()
        self.robot.ticks.clear()
        self.robot.device_s = self.waited_s = 0.0
        begun, cpu, loop_cpu = time.perf_counter(), time.process_time(), time.thread_time()
        run()
        wall, cpu, loop_cpu = (
            time.perf_counter() - begun,
            time.process_time() - cpu,
            time.thread_time() - loop_cpu,
        )
        paused = time.perf_counter()
        save()
        pause = time.perf_counter() - paused
        for camera in self.robot.cameras.values():
            camera.stop()
        return {
            "ticks": list(self.robot.ticks),
            "overhead_s": wall - self.waited_s - self.robot.device_s,
            "loop_cpu_s": loop_cpu,
            "cpu_s": cpu,
            "wall_s": wall,
            "pause_s": pause,
            "rss": int(Path("/proc/self/statm").read_text().split()[1]) * PAGE,
        }


class Ours:
    """``run_episode`` with ``Recorder``; the end of the episode is the pause."""

    def __init__(self, root: Path, robot: PacedRobot, meter: Meter) -> None:
        from svm_robot.drivers.rig_env import RigEnv
        from svm_robot.drivers.safety import SafetyConfig
        from svm_robot.drivers.teleop import TeleopPolicy
        from svm_robot.recording.recorder import Recorder

        self.meter = meter
        self.env = RigEnv(
            robot,
            rate_hz=float(RATE_HZ),
            clock=self,
            safety=SafetyConfig(max_speed=1e4, max_gripper_speed=1e4),
            limits=dict.fromkeys(JOINTS, (-180.0, 180.0)),
            max_frame_age_s=1.0,
        )
        self.policy = TeleopPolicy(PacedLeader(), JOINTS)
        self.recorder = Recorder(root, self.env.spec, "hold")
        self.recorder.open()
        self.end: Any = None

    def now_s(self) -> float:
        """The clock of the rig."""
        return time.perf_counter()

    def sleep_until_s(self, moment_s: float) -> None:
        """Waiting that counts as waiting."""
        self.meter.wait(moment_s - time.perf_counter())

    @property
    def needs_every_frame(self) -> bool:
        """Every step is a row."""
        return True

    def on_start(self, start: Any) -> None:
        """Part of the run."""
        self.recorder.on_start(start)

    def on_step(self, step: Any) -> None:
        """Part of the run."""
        self.recorder.on_step(step)

    def on_end(self, end: Any) -> None:
        """Kept back: saving is the pause."""
        self.end = end

    def begin(self, episode: int) -> None:
        """Nobody to wait for."""

    def poll(self, step: Any) -> str | None:
        """Until the time limit."""
        return None

    def outcome(self) -> str:
        """As good as any."""
        return "success"

    def wants_to_stop(self) -> bool:
        """Never."""
        return False

    def run(self, seconds: float) -> None:
        """One episode."""
        from svm_robot.rollout import run_episode

        run_episode(self.env, self.policy, self, max_steps=round(seconds * RATE_HZ), listeners=[self])  # type: ignore[list-item]

    def save(self) -> None:
        """Commit and label."""
        self.recorder.on_end(self.end)

    def close(self) -> None:
        """Let the dataset go."""
        self.recorder.close()


class Lerobots:
    """``record_loop`` of ``lerobot-record``."""

    def __init__(self, root: Path, robot: PacedRobot, meter: Meter, same: bool) -> None:
        from lerobot.configs import RGBEncoderConfig
        from lerobot.datasets import LeRobotDataset
        from lerobot.processor import make_default_processors
        from lerobot.scripts import lerobot_record

        lerobot_record.precise_sleep = meter.wait  # what it does on Linux, counted
        logging.getLogger().setLevel(logging.ERROR)
        quality = {"pix_fmt": "yuv444p", "crf": 18} if same else {}
        encoder = RGBEncoderConfig(vcodec="h264", preset="ultrafast", **quality)
        self.how: dict[str, Any] = {"streaming_encoding": True, "encoder_threads": 1, "rgb_encoder": encoder}
        joints = {"dtype": "float32", "shape": (len(JOINTS),), "names": list(JOINTS)}
        picture = {"dtype": "video", "shape": (*SIZE, 3), "names": ["height", "width", "channels"]}
        features = {"observation.state": joints, "action": joints}
        features |= {f"observation.images.{role}": picture for role in ROLES}
        self.robot, self.root, self.loop = robot, root, lerobot_record.record_loop
        self.resume = LeRobotDataset.resume
        self.processors = make_default_processors()
        self.leader = PacedLeader()
        self.dataset = LeRobotDataset.create("local/long", RATE_HZ, features, root=root, **self.how)

    def run(self, seconds: float) -> None:
        """One episode."""
        teleop, action, observation = self.processors
        self.loop(
            self.robot,
            {"exit_early": False},
            RATE_HZ,
            teleop,
            action,
            observation,
            dataset=self.dataset,
            teleop=self.leader,
            control_time_s=seconds,
            single_task="hold",
        )

    def save(self) -> None:
        """Save, and make the files readable: without that a kill costs all episodes of the session."""
        self.dataset.save_episode()
        self.dataset.finalize()
        self.dataset = self.resume("local/long", root=self.root, **self.how)

    def close(self) -> None:
        """Let the dataset go."""
        self.dataset.finalize()


def serve(side: str, root: Path, link: Connection) -> None:
    """A side's process: takes an episode of so many seconds when told to; None ends it."""
    robot = PacedRobot(RATE_HZ)
    meter = Meter(robot)
    taker = Ours(root, robot, meter) if side == "ours" else Lerobots(root, robot, meter, side == "lerobot_same")
    while (seconds := link.recv()) is not None:
        link.send(meter.episode(lambda length=seconds: taker.run(length), taker.save))  # type: ignore[misc]
    taker.close()
    link.send(None)
