"""Configuration of the virtual SO-101, registered with LeRobot as ``virtual_so101``."""

from dataclasses import dataclass, field

from lerobot.cameras import CameraConfig
from lerobot.robots.config import RobotConfig

from svm_robot.drivers.config_virtual_camera import VirtualCameraConfig
from svm_robot.drivers.virtual.cell_options import CellOptions
from svm_robot.drivers.virtual.disturbance import Disturbance
from svm_robot.errors import ConfigError

LINKS = ("wire", "lockstep")
ROLES = ("front", "wrist")
"""Where the world has a camera."""


def two_cameras() -> dict[str, CameraConfig]:
    """The cameras of a rig file that names none."""
    return {role: VirtualCameraConfig() for role in ROLES}


@RobotConfig.register_subclass("virtual_so101")
@dataclass(kw_only=True)
class VirtualSO101Config(RobotConfig):
    """An SO-101-like arm in a MuJoCo world."""

    link: str = "wire"  # wire: real time, over a serial port; lockstep: as fast as the computer goes
    task: str = "place"  # what lies on the table and what counts as success: place, lift or two (two cubes)
    disturbance: Disturbance = field(default_factory=Disturbance)  # slip, delay and noise; all off by default
    cameras: dict[str, CameraConfig] = field(default_factory=two_cameras)  # role (front, wrist): {type: virtual, ...}
    emulate_wire_time: bool = False  # wire only: replies take as long as on a real 1 Mbaud bus

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.link not in LINKS:
            raise ConfigError(f"robot.link is '{self.link}'; it is one of: {', '.join(LINKS)}")
        for role, camera in self.cameras.items():
            if role not in ROLES:
                raise ConfigError(f"the virtual robot has no camera '{role}'; its cameras are: {', '.join(ROLES)}")
            if not isinstance(camera, VirtualCameraConfig):
                raise ConfigError(f"camera '{role}' of the virtual robot needs type: virtual, got {camera.type}")

    @property
    def camera_sizes(self) -> dict[str, tuple[int, int]]:
        """Camera role -> (height, width) [pixels]."""
        return {role: (int(camera.height or 0), int(camera.width or 0)) for role, camera in self.cameras.items()}

    def cell_options(self, seed: int = 0) -> CellOptions:
        """What the process behind the wire is started with."""
        return CellOptions(
            self.task,
            self.disturbance,
            self.camera_sizes,
            self.camera_rates,
            seed=seed,
            wire_time=self.emulate_wire_time,
        )

    @property
    def camera_rates(self) -> dict[str, float]:
        """Camera role -> pictures per second."""
        return {role: float(camera.fps or 0) for role, camera in self.cameras.items()}
