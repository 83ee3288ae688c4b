"""Which versions are at work."""

import importlib.metadata
import platform
from collections.abc import Iterator

from svm_robot.drivers.doctor.finding import Finding, ok
from svm_robot.version import __version__

PACKAGES = ("lerobot", "torch", "numpy", "pyserial", "opencv-python-headless", "opencv-python", "av", "mujoco")
VENDORS = ("feetech-servo-sdk", "dynamixel-sdk", "pyrealsense2", "pygame")


def versions() -> dict[str, str]:
    """Name -> version, of what is installed."""
    found = {"svm-robot": __version__, "python": platform.python_version(), "system": platform.platform()}
    for name in (*PACKAGES, *VENDORS):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def check_software() -> Iterator[Finding]:
    """One line with all of them: what a report of a fault needs."""
    found = versions()
    yield ok("software", ", ".join(f"{name} {version}" for name, version in found.items()), values=found)
