"""One camera of a cell: when it is due, and where its pictures go."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from svm_robot.drivers.virtual.camera_faults import CameraFaults
from svm_robot.drivers.virtual.frames import FrameWriter
from svm_robot.drivers.virtual.world import World

ImageArray = NDArray[np.uint8]


class CameraFeed:
    """Draws and publishes. The constructor creates the file that readers open."""

    def __init__(self, world: World, role: str, rate_hz: float, path: Path) -> None:
        self.world, self.role, self.rate_hz, self.path = world, role, rate_hz, path
        self.faults = CameraFaults()
        self.due_s = 0.0
        self._writer: FrameWriter | None = FrameWriter(path, world.cameras[role])
        self._last: ImageArray = np.zeros((*world.cameras[role], 3), np.uint8)

    def set_faults(self, faults: CameraFaults) -> None:
        """From now on these, and no others."""
        self.faults = faults
        gone = self.role in faults.vanished
        if gone and self._writer is not None:
            self._writer.unplug()
            self._writer = None
        elif not gone and self._writer is None:
            self._writer = FrameWriter(self.path, self.world.cameras[self.role])

    def shoot(self, now_s: float) -> None:
        """Draw and publish; the capture time is that of the world that was drawn, not of the finished picture."""
        rate = self.faults.slow.get(self.role, self.rate_hz)
        self.due_s = max(self.due_s + 1 / rate, now_s)
        if self._writer is None or self.role in self.faults.stalled:
            return
        frozen = self.role in self.faults.frozen
        if self.role in self.faults.black:
            self._last = np.zeros_like(self._last)
        elif not frozen:
            self._last = self.world.render(self.role)
        self._writer.put(self._last, now_s, exposed=not frozen)
