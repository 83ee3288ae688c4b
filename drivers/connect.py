"""Connecting a LeRobot device without its questions: what is missing becomes one error that says what to run."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from svm_robot.drivers.fingerprint import check_arm
from svm_robot.drivers.lerobot_devices import type_name
from svm_robot.drivers.shutdown import shut_down
from svm_robot.drivers.usb.bandwidth import usb_hint
from svm_robot.errors import ConfigError, DeviceError


def connect(device: Any, kind: str, rival: Any = None) -> None:
    """Connect a robot or teleoperator (``kind``: ``robot`` or ``teleop``, as LeRobot's options begin).

    ``rival``: the other device of the rig, to tell exchanged ports by; nothing is written to an arm that is not meant.
    LeRobot would ask at the keyboard when the calibration does not fit; here that is an error. Raises ``DeviceError``;
    everything that was open is closed again then.
    """
    asks = {"calibrate": False} if "calibrate" in inspect.signature(device.connect).parameters else {}
    try:
        calibrated = check_arm(device, kind, rival)
        if calibrated:
            device.connect(**asks)
            calibrated = bool(device.is_calibrated)
    except ImportError as error:
        raise missing_library(f"{kind} '{device.name}'", error) from error
    except (OSError, RuntimeError) as error:
        left_on = told(shut_down(device))
        if isinstance(error, DeviceError):  # it already says which camera, joint or port
            if left_on:
                raise DeviceError(f"{error}{left_on}") from error
            raise
        text = " ".join(str(error).split())
        raise DeviceError(f"cannot connect {kind} '{device.name}': {text}{usb_hint(error)}{left_on}") from error
    if not calibrated:
        left_on = told(shut_down(device))
        port = f" --{kind}.port={device.config.port}" if hasattr(device.config, "port") else ""
        command = f"lerobot-calibrate --{kind}.type={type_name(device)}{port} --{kind}.id={device.id}"
        raise DeviceError(
            f"{kind} '{device.name}' with id '{device.id}' is not calibrated, or by another file than "
            f"{device.calibration_fpath}; run: {command}{left_on}"
        )


def made(make: Callable[[Any], Any], config: Any, kind: str) -> Any:
    """LeRobot's object for a configuration. Raises ``ConfigError`` where a library of its vendor is missing."""
    try:
        return make(config)
    except ImportError as error:
        raise missing_library(f"{kind}.type {config.type}", error) from error


def missing_library(what: str, error: ImportError) -> ConfigError:
    """LeRobot's words name the package to install; those of Python name the module."""
    hint = "" if "keyboard" not in what else "; the keys of this terminal need none of it: --by=keyboard"
    return ConfigError(f"{what} cannot be used here: {' '.join(str(error).split())}{hint}")


def told(failures: Sequence[Exception]) -> str:
    """What could not be switched off, as the end of a message; empty when everything could."""
    return "".join(f"; while switching it off: {failure}" for failure in dict.fromkeys(map(str, failures)))
