"""How patient the bus is: one budget of repeats, one deadline, one age limit."""

import math
from dataclasses import dataclass

from svm_robot.errors import ConfigError


@dataclass(frozen=True)
class BusConfig:
    """What the motor bus may spend on a bad reply before it stops the arm."""

    retries: int = 2  # how often in one tick the bus asks again for positions that were lost or damaged
    deadline_s: float = 0.06  # nothing is asked again later in a tick than this [s]
    reply_timeout_s: float = 0.02  # a motor that has said nothing for this long has lost its reply [s]
    max_losses: int = 3  # this many group reads in a row without one motor: stop
    max_joint_age_s: float = 0.2  # a lost position is replaced by the last good one up to this age [s]; older: stop
    limp_check_s: float = 1.0  # how often each motor is asked whether it still holds its torque [s]; 0: never
    plain: bool = False  # true: LeRobot's own bus, without any of this

    def __post_init__(self) -> None:
        for name in ("deadline_s", "reply_timeout_s", "max_joint_age_s"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ConfigError(f"bus.{name} is {value}; it must be a number above 0")
        if not 0 <= self.limp_check_s < math.inf:
            raise ConfigError(f"bus.limp_check_s is {self.limp_check_s}; it must be 0 (never) or a number above 0")
        if self.retries < 0 or self.max_losses < 1:
            raise ConfigError(
                f"bus.retries is {self.retries} and bus.max_losses {self.max_losses}; they must be at least 0 and 1"
            )
        if self.reply_timeout_s > self.deadline_s:
            raise ConfigError(
                f"bus.reply_timeout_s is {self.reply_timeout_s}, longer than bus.deadline_s ({self.deadline_s}): "
                "make the deadline at least as long"
            )
