"""Configuration of a camera that plays a video file, registered with LeRobot as ``video_file``."""

from dataclasses import dataclass
from pathlib import Path

from lerobot.cameras import CameraConfig

from svm_robot.errors import ConfigError


@CameraConfig.register_subclass("video_file")
@dataclass(kw_only=True)
class VideoFileCameraConfig(CameraConfig):
    """A video file as a camera, for rehearsals and tests. ``fps`` sets the pace, whatever the file's own is."""

    path: Path  # any video that PyAV reads
    loop: bool = True  # begin again at the end; otherwise no new picture comes after the last one

    def __post_init__(self) -> None:
        for name in ("fps", "width", "height"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name} of a video_file camera is {value}; it must be above 0")
