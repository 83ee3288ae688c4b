"""The video devices that are plugged in, as Linux lists them below ``/sys`` and ``/dev``."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from svm_robot.drivers.cameras.v4l2 import can_capture
from svm_robot.drivers.usb.identity import Device

ROOT = Path("/")


class VideoDevice(Device):
    """One node that takes pictures; its links lie below ``/dev/v4l/by-id`` and ``/dev/v4l/by-path``."""


def video_devices(root: Path = ROOT, captures: Callable[[str], bool] = can_capture) -> list[VideoDevice]:
    """Every node that ``captures``, in the order of their numbers; empty where there is no such tree (macOS).

    ``root`` is where ``sys/class/video4linux`` and ``dev`` lie.
    """
    folders = (root / "sys/class/video4linux").glob("video*")
    found = [_device(folder, root) for folder in sorted(folders, key=_number)]
    return [device for device in found if captures(device.path)]


def _number(folder: Path) -> int:
    digits = re.sub(r"\D", "", folder.name)
    return int(digits) if digits else -1


def _device(folder: Path, root: Path) -> VideoDevice:
    path = root / "dev" / folder.name
    usb_device = (folder / "device").resolve().parent  # "device" is one interface of it
    vendor, product = _line(usb_device / "idVendor"), _line(usb_device / "idProduct")
    on_usb = bool(vendor and product)
    return VideoDevice(
        path=str(path),
        name=_line(folder / "name") or folder.name,
        serial=_line(usb_device / "serial") if on_usb else "",
        socket=usb_device.name if on_usb else "",
        usb=(int(vendor, 16), int(product, 16)) if on_usb else None,
        links=tuple(_links(path, root)),
    )


def _links(path: Path, root: Path) -> list[str]:
    real = os.path.realpath(path)
    folders = (root / "dev/v4l/by-id", root / "dev/v4l/by-path")
    return [str(link) for folder in folders for link in sorted(folder.glob("*")) if os.path.realpath(link) == real]


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
