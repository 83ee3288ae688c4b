"""Small pictures of what cameras see."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH = 320


def write_thumbnail(picture: NDArray[np.uint8], path: Path) -> None:
    """Write (H, W, 3) RGB as a JPEG of ``WIDTH`` pixels, whole or not at all."""
    import cv2

    from svm_robot.data.files import publish

    height = max(1, round(picture.shape[0] * WIDTH / picture.shape[1]))
    small = cv2.resize(picture, (WIDTH, height), interpolation=cv2.INTER_AREA)
    _, encoded = cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR))
    staged = path.with_name(f".{path.name}.new")
    staged.write_bytes(encoded.tobytes())
    publish(staged, path, durable=False)


def picture_of(place: str, name: str) -> NDArray[np.uint8]:
    """(H, W, 3) RGB of a camera, by identity or path, in the mode it is in. Raises ``DeviceError`` without one."""
    from lerobot.cameras.opencv import OpenCVCamera, OpenCVCameraConfig

    from svm_robot.drivers.cameras.guard import GuardedCamera
    from svm_robot.drivers.cameras.limits import CameraLimits
    from svm_robot.drivers.clock import MonotonicClock

    camera: Any = OpenCVCamera(OpenCVCameraConfig(index_or_path=Path(place)))
    guard = GuardedCamera(camera, name, CameraLimits(), MonotonicClock())
    guard.connect()
    try:
        return guard.read_latest(max_age_ms=2000)
    finally:
        guard.disconnect()
