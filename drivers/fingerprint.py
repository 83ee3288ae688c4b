"""Which arm is on a port, told by what its motors carry: the calibration in their registers. Writes nothing.

LeRobot's calibration writes the same numbers into a file and into the motors. No two arms have the same, so a leader
and a follower whose ports were exchanged are told apart, also where their adapters have no serial numbers.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from lerobot.utils.constants import HF_LEROBOT_CALIBRATION

from svm_robot.drivers.bus.attach import steady_owners
from svm_robot.errors import DeviceError

FIELDS = {"homing_offset": "Homing_Offset", "range_min": "Min_Position_Limit", "range_max": "Max_Position_Limit"}
"""LeRobot's name in the file -> its register."""

Marks = dict[str, dict[str, int]]
"""Motor -> field of ``FIELDS`` -> value."""


def carried(bus: Any, motors: Iterable[str] | None = None) -> Marks:
    """What the motors of an open bus hold. Raises ``DeviceError`` for a silent one."""
    names = bus.motors if motors is None else motors
    return {
        motor: {field: int(bus.read(register, motor, normalize=False)) for field, register in FIELDS.items()}
        for motor in names
    }


def in_file(path: Path) -> Marks:
    """What a calibration file of LeRobot says; empty for a file that is none."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {motor: {field: int(row[field]) for field in FIELDS} for motor, row in rows.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def differing(marks: Marks, other: Mapping[str, Mapping[str, int]]) -> dict[str, list[str]]:
    """Motor -> the fields in which two arms differ, for the motors of ``marks``."""
    found = {
        motor: [field for field, value in row.items() if other.get(motor, {}).get(field) != value]
        for motor, row in marks.items()
    }
    return {motor: fields for motor, fields in found.items() if fields}


def calibration_files(*devices: Any) -> list[Path]:
    """Every calibration of LeRobot that may be meant: beside those of the devices, and in LeRobot's own folder."""
    folders = {Path(device.calibration_dir) for device in devices if getattr(device, "calibration_dir", None)}
    beside = [path for folder in sorted(folders) for path in sorted(folder.glob("*.json"))]
    return list(dict.fromkeys([*beside, *sorted(HF_LEROBOT_CALIBRATION.glob("*/*/*.json"))]))


def whose(marks: Marks, files: Iterable[Path]) -> list[Path]:
    """The calibration files that these motors carry."""
    return [path for path in files if marks and not differing(marks, in_file(path))]


def check_arm(device: Any, kind: str, rival: Any = None) -> bool:
    """Refuse an arm that is another one than the rig file says, before anything is written to it.

    ``device`` is a LeRobot robot or teleoperator that is not connected, of one arm or two; ``rival`` the other one of
    the rig. Only arms on our bus are asked. False: their motors carry neither the calibration of their id nor one that
    is known here. Raises ``DeviceError`` for an arm that is recognised as another one; the port is closed again.
    """
    return all(_is_meant(owner, name, rival) for name, owner in steady_owners(device, kind))


def _is_meant(arm: Any, kind: str, rival: Any) -> bool:
    """See ``check_arm``; ``kind``: ``robot``, ``robot.left_arm``, ..."""
    bus, path = arm.bus, Path(arm.calibration_fpath)
    bus.connect()
    try:
        marks = carried(bus)
    finally:
        bus.disconnect(disable_torque=False)
    if whose(marks, [path]):
        return True
    other = "teleop" if kind.startswith("robot") else "robot"
    theirs = Path(rival.calibration_fpath) if getattr(rival, "calibration_fpath", None) else None
    if theirs is not None and not differing(marks, in_file(theirs)):
        raise DeviceError(
            f"the ports of {kind} and {other} are exchanged: on {bus.port} is the arm '{rival.id}', which is the "
            f"{other} of this rig; swap {kind}.port and {other}.port, or the plugs. Nothing was written"
        )
    others = whose(marks, (other for other in calibration_files(arm, rival) if other != path))
    if others:
        raise DeviceError(
            f"on {bus.port} is another arm than {kind} '{arm.id}': its motors carry the calibration of "
            f"'{others[0].stem}' ({others[0]}); correct {kind}.port or {kind}.id. Nothing was written"
        )
    return False


def rival_of(config: Any, make: Callable[[Any], Any]) -> Any:
    """The other device of a rig, made from its configuration and never connected; None where it has no port."""
    return make(config) if config is not None and hasattr(config, "port") else None
