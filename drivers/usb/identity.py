"""Which USB device is meant: by its serial number, or by the socket it is plugged into; never by the order of plugging.

In a rig file such an identity stands wherever LeRobot wants the path of a port or of a camera:

- ``usb:SERIAL``: the device with this serial number, wherever it is plugged in;
- ``usb-port:1-2.3``: whatever is plugged in at bus 1, socket 2, socket 3 of the hub there.

``svm-robot find`` prints them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from svm_robot.errors import ConfigError, DeviceError

SERIAL, SOCKET = "usb:", "usb-port:"
VOLATILE = re.compile(r"\d+|/dev/(video|ttyACM|ttyUSB)\d+")
"""Names that the system gives out in the order in which devices are found."""


@dataclass(frozen=True)
class Device:
    """A port or a camera that is there now."""

    path: str
    """Where it is now, for example ``/dev/ttyACM0``."""
    name: str
    """What its maker calls it; often the same for equal devices."""
    serial: str
    """Serial number; empty when it has none."""
    socket: str
    """Where it is plugged in, for example ``1-2.3``; empty for what is not on USB."""
    usb: tuple[int, int] | None
    """Vendor and product id."""
    links: tuple[str, ...]
    """Stable paths the system made for it (``/dev/serial/by-id/...``)."""


def is_identity(text: str) -> bool:
    """True for ``usb:...`` and ``usb-port:...``."""
    return text.startswith((SERIAL, SOCKET))


def is_volatile(text: str) -> bool:
    """True for a number, ``/dev/video0`` and the like: another device may have it after the next start."""
    return VOLATILE.fullmatch(text) is not None


def identity_of(device: Device, among: Sequence[Device]) -> str:
    """The best identity of a device among those present; empty when nothing but its volatile path tells it.

    A serial number that another device has as well (cheap ones are all numbered alike) identifies nothing. Of a device
    that has several nodes, each is known by its stable path.
    """
    same = sum(other.socket == device.socket for other in among)
    if not device.socket or same > 1:
        return device.links[0] if device.links else ""
    elsewhere = {other.socket for other in among if other.serial == device.serial} - {device.socket}
    return SERIAL + device.serial if device.serial and not elsewhere else SOCKET + device.socket


def volatility(what: str, text: str, stable: str) -> list[str]:
    """A note for the user where ``what`` is named by ``text``, which is volatile, and could be by ``stable``."""
    if not (stable and is_volatile(text)):
        return []
    return [f"{what} is {text}, a name that changes when cables are moved; '{stable}' does not"]


def choose[D: Device](identity: str, devices: Sequence[D], what: str, finder: str) -> D:
    """The one device that ``identity`` names; ``what`` (for example ``camera 'wrist'``) and ``finder`` (a command that
    lists the candidates) go into the messages.

    Raises ``DeviceError`` when it is not there, ``ConfigError`` when several are meant.
    """
    scheme = SERIAL if identity.startswith(SERIAL) else SOCKET
    wanted = identity.removeprefix(scheme)
    if not wanted:
        raise ConfigError(f"{what}: nothing stands behind '{identity}'; {finder} lists what there is")
    found = [device for device in devices if wanted == (device.serial if scheme == SERIAL else device.socket)]
    if not found:
        present = ", ".join(f"{identity_of(d, devices) or d.path} ({d.name})" for d in devices) or "none"
        raise DeviceError(
            f"{what} is missing: no device {identity} is plugged in; present: {present}; plug it in, or put another "
            f"identity into the rig file ({finder} lists them)"
        )
    if len(found) == 1:
        return found[0]
    if len({device.socket for device in found}) > 1:
        sockets = " or ".join(SOCKET + device.socket for device in found)
        raise ConfigError(
            f"{what}: {len(found)} devices have the serial number {wanted}; say by socket which one is meant, "
            f"{sockets}, and leave the plugs where they are (moving one breaks the binding)"
        )
    paths = " or ".join(device.links[0] if device.links else device.path for device in found)
    raise ConfigError(f"{what}: the device {identity} has {len(found)} of them; write the path of one: {paths}")
