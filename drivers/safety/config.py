"""The ``safety`` section of a rig file: how far, how fast, how hot, and how long without a command."""

import math
from dataclasses import dataclass, field

from svm_robot.drivers.cameras.limits import CameraLimits
from svm_robot.errors import ConfigError

HOT = 65.0
"""Where nothing else is said, a motor that is hotter than this stops the arm [deg C]."""


@dataclass
class MotorLimits:
    """What a motor may tell of itself before the arm stops. None: not watched; temperature: 65 where it is told."""

    # greatest temperature of a motor [deg C]; 0: never watched
    max_temperature: float | None = None
    # greatest current of a motor [mA]
    max_current: float | None = None
    # greatest effort of a motor, in percent of its greatest one
    max_load: float | None = None
    # joints with a load limit of their own, for example {"gripper.pos": 40}
    max_load_by_joint: dict[str, float] = field(default_factory=dict)
    # current and load may be above their limits for so long [s]
    overload_s: float = 0.5
    # one quantity is read after every so many control steps
    every_ticks: int = 3

    def __post_init__(self) -> None:
        greatest = {
            "max_temperature": self.max_temperature,
            "max_current": self.max_current,
            "max_load": self.max_load,
            **{f"max_load_by_joint.{joint}": load for joint, load in self.max_load_by_joint.items()},
        }
        for name, value in greatest.items():
            lowest_is_off = name == "max_temperature" and value == 0
            if value is not None and not lowest_is_off and not 0 < value < math.inf:
                raise ConfigError(f"safety.motors.{name} is {value}; it must be a number above 0")
        if not 0 <= self.overload_s < math.inf:
            raise ConfigError(f"safety.motors.overload_s is {self.overload_s}; it must be a number from 0 up")
        if self.every_ticks < 1:
            raise ConfigError(f"safety.motors.every_ticks is {self.every_ticks}; it must be at least 1")


@dataclass
class SafetyConfig:
    """How fast and how far the joints may go, and when the arm is stopped."""

    # greatest speed of a joint target, in robot units per second (SO-101: degrees per second)
    max_speed: float = 115.0
    # the same for the gripper, whose unit is a percentage of its opening
    max_gripper_speed: float = 235.0
    # joints with a speed of their own, for example {"shoulder_pan.pos": 60}
    max_speed_by_joint: dict[str, float] = field(default_factory=dict)
    # greatest step of any joint target from one control step to the next [robot units]; none: only the speed counts
    max_step: float | None = None
    # joints with a step of their own, for example {"gripper.pos": 10}
    max_step_by_joint: dict[str, float] = field(default_factory=dict)
    # narrower limits than the robot's own, for example {"wrist_roll.pos": [-90, 90]}
    limits: dict[str, list[float]] = field(default_factory=dict)
    # box that the tip of the gripper stays in [m], for example {"z": [0.02, 0.4]}; SO-101 only; none: no box
    workspace: dict[str, list[float]] = field(default_factory=dict)
    # without a command for so long [s] the arm is held where it is and the episode ends; 0: never
    watchdog_s: float = 2.0
    # whoever commands nothing for so long [s] within an episode hangs: the session ends; 0: never
    hang_s: float = 15.0
    # temperature, current and load of the motors
    motors: MotorLimits = field(default_factory=MotorLimits)
    # when a camera counts as faulty
    cameras: CameraLimits = field(default_factory=CameraLimits)

    def __post_init__(self) -> None:
        for name in ("watchdog_s", "hang_s"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ConfigError(f"safety.{name} is {value}; it must be 0 (never) or a number above 0")
        if self.watchdog_s and self.hang_s and self.hang_s < self.watchdog_s:
            raise ConfigError(
                f"safety.hang_s is {self.hang_s}, shorter than safety.watchdog_s ({self.watchdog_s}): the arm is held "
                "before a session is given up; make hang_s at least as long"
            )
