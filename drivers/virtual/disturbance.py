"""What makes the virtual world less than perfect. Everything is off by default; then the world is deterministic."""

from dataclasses import dataclass, fields

from svm_robot.errors import ConfigError


@dataclass(frozen=True)
class Disturbance:
    """Switches for non-determinism and imperfect hardware."""

    # losses of grip per second on average: for a moment the jaws hold nothing
    # (0.3 spoils about every third episode of a perfect operator)
    slip: float = 0.0
    # time from a command to the moment the servo hears it [s]
    delay_s: float = 0.0
    # standard deviation of every joint reading, in robot units (degrees; gripper: percent)
    joint_noise_deg: float = 0.0
    # standard deviation of every pixel, in steps of 0..255
    pixel_noise: float = 0.0
    # play of the gears: how far a command must turn back before the five arm joints follow [deg]
    backlash_deg: float = 0.0

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if not 0 <= value < float("inf"):
                raise ConfigError(f"disturbance.{option.name} must be a number from 0 up, got {value}")
