"""The rig file: everything about one robot cell that a command needs, in one YAML."""

from dataclasses import dataclass, field
from pathlib import Path

from lerobot.robots.config import RobotConfig
from lerobot.teleoperators.config import TeleoperatorConfig

from svm_robot.drivers.bus.config import BusConfig
from svm_robot.drivers.lerobot_devices import register_devices
from svm_robot.drivers.safety import SafetyConfig
from svm_robot.errors import ConfigError

register_devices()  # the parser offers the names that are registered when it is built


@dataclass(kw_only=True)
class RigConfig:
    """One robot cell. The verbs that move a robot add their own options below these."""

    robot: RobotConfig  # any LeRobot robot (so101_follower, koch_follower, ...) or virtual_so101
    teleop: TeleoperatorConfig | None = None  # any LeRobot teleoperator; only for --control=teleop
    rate_hz: float = 10.0  # control steps per second
    episode_s: float = 8.0  # an episode ends after this many seconds of robot time
    task: str = ""  # one sentence: what the robot shall do; written into every dataset
    safety: SafetyConfig = field(default_factory=SafetyConfig)  # limits below every action
    bus: BusConfig = field(default_factory=BusConfig)  # how patient the motor bus is with glitches
    max_frame_age_s: float = 0.2  # nothing moves on a picture older than this [s]
    start_pose: dict[str, float] | None = None  # joint key -> position an episode starts from; none: stay where it is
    start_speed: float = 30.0  # how fast the arm goes to its start pose [robot units/s; degrees/s on an SO-101]
    park_pose: dict[str, float] | None = None  # joint key -> position to go to before the torque goes off; none: let go
    park_speed: float = 30.0  # how fast the arm goes to its park pose [robot units/s]
    dataset_root: str = "runs/dataset"  # where `record` writes when no --dataset is given
    seed: int = 0  # every episode's seed follows from this one

    def __post_init__(self) -> None:
        if self.dataset_root.startswith("~/"):  # no shell reads a rig file
            self.dataset_root = str(Path(self.dataset_root).expanduser())
        for name in ("rate_hz", "episode_s", "max_frame_age_s", "start_speed", "park_speed"):
            value = getattr(self, name)
            if not 0 < value < float("inf"):
                raise ConfigError(f"{name} is {value}; it must be a number above 0")
        if self.seed < 0:
            raise ConfigError(f"seed is {self.seed}; it must be 0 or more")
        if self.max_steps < 1:
            raise ConfigError(f"an episode of {self.episode_s} s at {self.rate_hz} Hz has no step; make one larger")

    @property
    def max_steps(self) -> int:
        """Control steps until the time limit."""
        return round(self.episode_s * self.rate_hz)
