"""The virtual SO-101 as a LeRobot robot: LeRobot's own SO-101 driver on the port of a virtual cell."""

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lerobot.robots import Robot
from lerobot.robots.so_follower import SO101Follower, SO101FollowerConfig
from lerobot.utils.errors import DeviceAlreadyConnectedError, DeviceNotConnectedError

from svm_robot.drivers.config_virtual_camera import VirtualCameraConfig
from svm_robot.drivers.config_virtual_so101 import VirtualSO101Config
from svm_robot.drivers.joints import JOINTS
from svm_robot.drivers.virtual.cell import CALIBRATION_ID, VirtualCell
from svm_robot.drivers.virtual_camera import VirtualCamera
from svm_robot.errors import ConfigError

CONNECT_TRIES = 3


class VirtualSO101(Robot):
    """Owns a ``VirtualCell`` while connected. Arm and bus are LeRobot's, unchanged."""

    config_class = VirtualSO101Config
    name = "virtual_so101"

    def __init__(self, config: VirtualSO101Config) -> None:
        """Raises ``ConfigError`` for ``link: lockstep``: LeRobot's loops run in real time."""
        if config.link != "wire":
            raise ConfigError(
                f"robot.link is '{config.link}', but LeRobot's robots run in real time: set robot.link to wire "
                "(svm-robot's own commands open a lockstep robot without this class)"
            )
        super().__init__(config)
        self.config = config
        self.cell = VirtualCell(config.cell_options())
        self.follower: SO101Follower | None = None
        """LeRobot's driver; None while the cell is closed, because only an open one has a port."""
        self.prepare_arm: Callable[[SO101Follower], None] = _leave
        """Called with LeRobot's driver before it connects."""
        self.cameras: dict[str, VirtualCamera] = {role: VirtualCamera(_camera(config, role)) for role in config.cameras}

    @property
    def observation_features(self) -> dict[str, Any]:
        """Joint keys -> float, camera roles -> (height, width, 3)."""
        sizes = self.config.camera_sizes
        return {**self.action_features, **{role: (*size, 3) for role, size in sizes.items()}}

    @property
    def action_features(self) -> dict[str, Any]:
        """Joint keys -> float."""
        return dict.fromkeys(JOINTS, float)

    @property
    def bus(self) -> Any:
        """LeRobot's motor bus."""
        return self._arm().bus

    @property
    def is_connected(self) -> bool:
        """True when arm and cameras are."""
        arm = self.follower is not None and self.follower.is_connected
        return arm and all(camera.is_connected for camera in self.cameras.values())

    @property
    def is_calibrated(self) -> bool:
        """Always, while connected: the servos leave the factory calibrated."""
        return self.follower is not None and self.follower.is_calibrated

    def connect(self, calibrate: bool = True) -> None:
        """Start the cell, then connect LeRobot's driver and the cameras to it. A failure closes everything again."""
        if self.follower is not None:
            raise DeviceAlreadyConnectedError(f"{self} is already connected")
        with contextlib.ExitStack() as undo:
            undo.callback(self.cell.close)
            self.cell.open()
            assert self.cell.folder is not None
            self.follower = _follower(self.cell.port, self.cell.folder)
            undo.callback(self._forget_arm)
            self.prepare_arm(self.follower)
            _connect(self.follower)
            undo.callback(self.follower.disconnect)
            self.calibration = self.follower.calibration
            for role, camera in self.cameras.items():
                camera.config = _camera(self.config, role, str(self.cell.folder))
                camera.connect()
                undo.callback(camera.disconnect)
            undo.pop_all()

    def calibrate(self) -> None:
        """Nothing to do: the servos leave the factory calibrated."""

    def configure(self) -> None:
        """LeRobot's settings for the motors."""
        self._arm().configure()

    def get_observation(self) -> dict[str, Any]:
        """Joint keys -> position, camera roles -> newest frame (H, W, 3)."""
        observation: dict[str, Any] = self._arm().get_observation()
        for role, camera in self.cameras.items():
            observation[role] = camera.read_latest()
        return observation

    def send_action(self, action: dict[str, Any]) -> dict[str, Any]:
        """Joint keys -> goal position; returns what was sent."""
        sent: dict[str, Any] = self._arm().send_action(action)
        return sent

    def disconnect(self) -> None:
        """Arm (torque off), cameras, cell: each is tried whatever the others do; the first error is raised."""
        follower = self._arm()
        with contextlib.ExitStack() as stack:
            stack.callback(self.cell.close)
            stack.callback(self._forget_arm)
            for camera in self.cameras.values():
                stack.callback(camera.disconnect)
            stack.callback(follower.disconnect)

    def _arm(self) -> SO101Follower:
        if self.follower is None:
            raise DeviceNotConnectedError(f"{self} is not connected; call connect() first")
        return self.follower

    def _forget_arm(self) -> None:
        self.follower = None


def _leave(_: SO101Follower) -> None:
    """The arm is LeRobot's as it is."""


def _connect(follower: SO101Follower) -> None:
    """LeRobot waits 50 ms for an answer, which is long for a servo and short for a process on a busy computer."""
    for tries_left in reversed(range(CONNECT_TRIES)):
        try:
            follower.connect(calibrate=False)
        except (ConnectionError, RuntimeError):  # the latter where the roll call missed a motor
            if follower.bus.is_connected:
                follower.bus.disconnect(disable_torque=False)
            if not tries_left:
                raise
        else:
            return


def _camera(config: VirtualSO101Config, role: str, cell: str = "") -> VirtualCameraConfig:
    camera = config.cameras[role]
    assert isinstance(camera, VirtualCameraConfig)
    return dataclasses.replace(camera, cell=cell, role=role)


def _follower(port: str, folder: Path) -> SO101Follower:
    """LeRobot's driver with the calibration of these servos, which lies in the cell's own folder."""
    return SO101Follower(SO101FollowerConfig(port=port, id=CALIBRATION_ID, calibration_dir=folder))
