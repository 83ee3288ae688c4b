"""``svm-robot find ports|cameras``: what is plugged in, and how a rig file names it."""

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from svm_robot.errors import ConfigError, SvmRobotError

if TYPE_CHECKING:
    from svm_robot.drivers.find import Found
    from svm_robot.drivers.usb.identity import Device

USAGE = "svm-robot find ports|cameras [--json] [--unplug] [--thumbnails=DIR]"
KINDS = ("ports", "cameras")


@dataclass(kw_only=True)
class FindConfig:
    """Lists serial ports or cameras with the identity that a rig file takes for each. Moves nothing."""

    json: bool = False  # print the list as JSON
    unplug: bool = False  # which of two equal ones is it? asks you to unplug it; needs a terminal
    timeout_s: float = 30.0  # how long --unplug waits [s]
    thumbnails: Path | None = None  # take a picture with each camera and write it into this folder

    def __post_init__(self) -> None:
        if not 0 < self.timeout_s < float("inf"):
            raise ConfigError(f"timeout_s is {self.timeout_s}; it must be a number above 0")
        if self.unplug and self.json:
            raise ConfigError("--unplug is a conversation; leave --json out")


def main(args: list[str]) -> int:
    """List, or tell two equal devices apart."""
    from svm_robot.scripts.cli import parse, split_positionals
    from svm_robot.scripts.rig_file import nearest

    words, options = split_positionals(args, USAGE, 1, 1)
    config = parse(FindConfig, options, usage=USAGE)
    kind = words[0]
    if kind not in KINDS:
        raise ConfigError(f"cannot find '{kind}'{nearest(kind, KINDS)}; expected: {USAGE}")
    if config.thumbnails is not None and kind != "cameras":
        raise ConfigError("--thumbnails is for cameras")
    if config.unplug:
        return tell_apart(kind, config.timeout_s)

    from svm_robot.drivers.find import look_at

    found = look_at(present(kind))
    pictures = {} if config.thumbnails is None else take_pictures(found, config.thumbnails)
    if config.json:
        rows = [{**one.to_json(), **pictures.get(one.device.path, {})} for one in found]
        print(json.dumps({kind: rows}, indent=2))
        return 0
    for one in found:
        print("\n".join([*lines(one, kind), *(f"  {name:10}{text}" for name, text in shown(pictures, one))]))
    if not found:
        print(nothing(kind))
    return 0


def present(kind: str) -> "Sequence[Device]":
    """What is plugged in now."""
    from svm_robot.drivers.cameras.devices import video_devices
    from svm_robot.drivers.usb.ports import serial_ports

    return serial_ports() if kind == "ports" else video_devices()


def nothing(kind: str) -> str:
    """Why the list may be empty, and what to look at."""
    if kind == "cameras" and sys.platform != "linux":
        return "cameras are listed on Linux only; `lerobot-find-cameras opencv` opens one after the other"
    what = "serial port" if kind == "ports" else "camera"
    return f"no {what} is plugged in; check cable and power (some cables only charge), then look at `dmesg | tail`"


def lines(found: "Found", kind: str) -> list[str]:
    """One device as text."""
    from svm_robot.drivers.cameras.mode import listed

    device, field = found.device, "port" if kind == "ports" else "index_or_path"
    usb = "" if device.usb is None else f" ({device.usb[0]:04x}:{device.usb[1]:04x})"
    rows = {
        "write": f"{field}: {found.identity or device.path}",
        "note": found.note,
        "serial": device.serial,
        "socket": device.socket,
        "also": " ".join(device.links),
        "modes": listed(found.modes),
        "in use by": " and ".join(found.held_by),
        "problem": found.problem,
    }
    return [f"{device.path}  {device.name}{usb}", *(f"  {name:10}{text}" for name, text in rows.items() if text)]


def shown(pictures: dict[str, dict[str, str]], found: "Found") -> list[tuple[str, str]]:
    """What came of the picture of a camera."""
    return [(name.replace("_", " "), text) for name, text in pictures.get(found.device.path, {}).items()]


def take_pictures(found: "Sequence[Found]", folder: Path) -> dict[str, dict[str, str]]:
    """Path of a camera -> ``thumbnail``, the file, or ``no_picture``, the reason. One that fails stops no other."""
    from svm_robot.scripts.thumbnails import picture_of, write_thumbnail

    folder.mkdir(parents=True, exist_ok=True)
    taken: dict[str, dict[str, str]] = {}
    for one in found:
        name = re.sub(r"[^\w.-]+", "_", one.identity or one.device.path).strip("_")
        path = folder / f"{name}.jpg"
        try:
            write_thumbnail(picture_of(one.identity or one.device.path, Path(one.device.path).name), path)
        except SvmRobotError as error:
            taken[one.device.path] = {"no_picture": str(error)}
        else:
            taken[one.device.path] = {"thumbnail": str(path)}
    return taken


def tell_apart(kind: str, timeout_s: float) -> int:
    """The guided way to know which of two equal devices is which."""
    from svm_robot.drivers.clock import MonotonicClock
    from svm_robot.drivers.find import unplugged

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError(
            f"--unplug needs a terminal; without one compare two lists, before and after unplugging: "
            f"svm-robot find {kind} --json"
        )
    found = unplugged(lambda: present(kind), MonotonicClock(), timeout_s, print)
    if found is None:
        raise ConfigError(f"nothing was unplugged within {timeout_s:g} s; try again, or give more with --timeout_s")
    print("\n".join(lines(found, kind)))
    return 0
