"""What LeRobot's cameras give: sizes, and pictures with the time they were taken."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svm_robot.errors import ConfigError

ImageArray = NDArray[np.uint8]


def camera_sizes(features: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Camera role -> (height, width) of a robot's observation features. ``ConfigError`` for pictures without colour."""
    shapes = {key: shape for key, shape in features.items() if isinstance(shape, tuple)}
    for role, shape in shapes.items():
        if shape[2:] != (3,):
            raise ConfigError(f"'{role}' gives pictures of shape {shape}; only colour can be used: leave use_depth out")
    return {role: shape[:2] for role, shape in shapes.items()}


def timed_frame(camera: Any, frame: ImageArray, read_s: float) -> tuple[ImageArray, float]:
    """A frame with its capture time [s].

    LeRobot's threaded cameras keep frame and time together under a lock; taking both there keeps them a pair. A camera
    that tells no time gets that of the reading.
    """
    time_s = getattr(camera, "latest_timestamp", None)
    if time_s is None:
        return frame, read_s
    if not hasattr(camera, "frame_lock"):
        return frame, float(time_s)
    kept = "latest_color_frame" if hasattr(camera, "latest_color_frame") else "latest_frame"  # RealSense: the former
    with camera.frame_lock:
        return getattr(camera, kept), float(camera.latest_timestamp)
