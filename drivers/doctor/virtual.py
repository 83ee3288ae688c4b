"""The virtual robot over the wire as LeRobot's SO-101 on a port, so that it is looked at like a real one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from lerobot.robots.so_follower import SO101FollowerConfig

from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
from svm_robot.drivers.virtual.cell import CALIBRATION_ID, VirtualCell


@contextmanager
def as_real(config: VirtualSO101Config, seed: int) -> Iterator[Any]:
    """Start its cell, and end it afterwards."""
    cell = VirtualCell(config.cell_options(seed))
    cell.open()
    try:
        yield real_config(cell, config)
    finally:
        cell.close()


def real_config(cell: VirtualCell, config: VirtualSO101Config) -> SO101FollowerConfig:
    """An SO-101 on the port of an open cell, with its cameras."""
    cameras = {role: replace(camera, cell=str(cell.folder), role=role) for role, camera in config.cameras.items()}
    return SO101FollowerConfig(port=cell.port, id=CALIBRATION_ID, calibration_dir=cell.folder, cameras=cameras)
