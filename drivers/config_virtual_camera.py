"""Configuration of a camera inside the virtual robot's world."""

from dataclasses import dataclass

from lerobot.cameras import CameraConfig

from svm_robot.errors import ConfigError


@CameraConfig.register_subclass("virtual")
@dataclass(kw_only=True)
class VirtualCameraConfig(CameraConfig):
    """A camera of the virtual robot. ``virtual_so101`` fills in ``cell`` and ``role`` of its own cameras."""

    fps: int | None = 30  # pictures per second (over the wire; in lockstep every observation has a fresh one)
    width: int | None = 64  # pixels
    height: int | None = 64  # pixels
    cell: str = ""  # folder of a running cell, as `svm-robot virtual` prints it (only for LeRobot's own commands)
    role: str = ""  # which camera of that cell: front or wrist (only for LeRobot's own commands)

    def __post_init__(self) -> None:
        for name in ("fps", "width", "height"):
            value = getattr(self, name)
            if not (value or 0) > 0:
                raise ConfigError(f"{name} of a virtual camera is {value}; it must be above 0")
