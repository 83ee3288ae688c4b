"""The numbers that cameras are held to; ``safety.cameras`` of the rig file."""

from dataclasses import dataclass, fields

from svm_robot.errors import ConfigError


@dataclass
class CameraLimits:
    """When a camera counts as faulty, and how long it is waited for."""

    # the same pixels for so long [s], each time as if they were new: frozen; 0: never
    frozen_after_s: float = 1.0
    # black, covered or of one colour for so long [s]: no picture to act on; 0: never
    blank_after_s: float = 1.0
    # a camera that delivers less than this share of its fps is refused when the rig is opened; 0: never
    least_rate: float = 0.7
    # an opening that takes longer is given up [s]
    open_timeout_s: float = 15.0
    # how often a camera that failed is opened again before the next episode; never within one
    reconnect_tries: int = 3
    # wait before the second try [s]; twice as long before each further one
    reconnect_wait_s: float = 0.5

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value < float("inf"):
                raise ConfigError(f"safety.cameras.{field.name} is {value}; it must be a number from 0 up")
        if self.open_timeout_s == 0:
            raise ConfigError("safety.cameras.open_timeout_s is 0; a camera needs some time to open")
