"""Makes every robot, teleoperator and camera that LeRobot ships (or a plugin adds) known by its ``type`` name."""

import contextlib
import importlib
import pkgutil
from typing import Any

import lerobot.cameras
import lerobot.robots
import lerobot.teleoperators
from lerobot.utils.import_utils import register_third_party_plugins

OURS = (
    "svm_robot.drivers.config_virtual_so101",
    "svm_robot.drivers.config_virtual_camera",
    "svm_robot.drivers.cameras.config_video_file",
)
"""Modules in which configurations of our own devices are registered: docs/adding-a-device.md."""


def register_devices() -> None:
    """Import LeRobot's device packages, its installed plugins, and ours. May be called again: nothing happens then.

    LeRobot registers a device's name when its package is imported. A package that cannot be imported here (its vendor
    library is missing) is left out; its name is then unknown and the parser lists those that are.
    """
    for family in (lerobot.robots, lerobot.teleoperators, lerobot.cameras):
        for module in pkgutil.iter_modules(family.__path__, family.__name__ + "."):
            if module.ispkg:
                with contextlib.suppress(ImportError):
                    importlib.import_module(module.name)
    register_third_party_plugins()
    register_ours()


def register_ours() -> None:
    """Import the modules of ``OURS``."""
    for module in OURS:
        importlib.import_module(module)


def type_name(device: Any) -> str:
    """What LeRobot's options call the type of a device (``so101_follower``); its class may call itself otherwise.

    SO-100 and SO-101 share one class: the newer name is given, and both mean the same.
    """
    kind = type(device.config)
    choices = kind.get_known_choices() if hasattr(kind, "get_known_choices") else {}
    return max((name for name, known in choices.items() if known is kind), default=str(device.name))
