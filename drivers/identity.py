"""Which robot this is: units, calibration and cameras, as far as the devices themselves tell. Nothing is guessed."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

UNITS = {"degrees": "deg", "range_0_100": "%", "range_m100_100": "±%"}
"""LeRobot's way of scaling a motor (``MotorNormMode``) -> the unit of its joint."""

PLACES = ("index_or_path", "serial_number_or_name", "server_address", "ip_address", "role", "path")
"""Fields in which the configurations of LeRobot's cameras, and ours, say which device is meant."""
DETAILS = ("port", "camera_name", "name", "image_type")
"""What some of them need besides."""


def joint_units(robot: Any, joints: Sequence[str]) -> tuple[str, ...]:
    """Unit of each joint from the mode of its motor; ``""`` where the robot shows no motor of that name."""
    motors = getattr(getattr(robot, "bus", None), "motors", None) or {}
    modes = [getattr(motors.get(joint.removesuffix(".pos")), "norm_mode", None) for joint in joints]
    return tuple(UNITS.get(str(getattr(mode, "value", "")), "") for mode in modes)


def calibration_hash(robot: Any) -> str:
    """16 hex digits over LeRobot's ``MotorCalibration`` of every motor; ``""`` for a robot that shows none."""
    kept = getattr(getattr(robot, "bus", None), "calibration", None) or getattr(robot, "calibration", None)
    if not kept:
        return ""
    text = json.dumps({motor: asdict(ends) for motor, ends in kept.items()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def robot_id(robot: Any) -> str:
    """The ``id`` a robot was configured with; ``""`` when it has none."""
    return str(getattr(robot, "id", None) or "")


def camera_identities(robot: Any) -> dict[str, str]:
    """Camera role -> what its configuration binds to, for cameras that say so."""
    cameras: Mapping[str, Any] = getattr(robot, "cameras", None) or {}
    named = {
        role: camera_identity(getattr(camera, "config", None), getattr(camera, "identity", ""))
        for role, camera in cameras.items()
    }
    return {role: identity for role, identity in named.items() if identity}


def camera_identity(config: Any, device: str = "") -> str:
    """For example ``opencv /dev/video0`` or ``virtual front``, and what is done to its pictures; ``""`` unknown.

    ``device``: what is known better than by the configuration, for example ``usb:SERIAL`` behind a number.
    """
    place = device or next((str(getattr(config, name)) for name in PLACES if hasattr(config, name)), "")
    if not place:
        return ""
    words = [str(getattr(config, "type", type(config).__name__)), place]
    words += [str(getattr(config, name)) for name in DETAILS if hasattr(config, name)]
    turn = getattr(getattr(config, "rotation", None), "value", 0)
    swapped = getattr(getattr(config, "color_mode", None), "value", "rgb") != "rgb"
    return " ".join(words) + (f" turned {turn}" if turn else "") + (" bgr" if swapped else "")
