"""Serial ports: which there are, and which of them an identity in the rig file means."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from serial.tools import list_ports

from svm_robot.drivers.access import no_access
from svm_robot.drivers.bus.holders import holders
from svm_robot.drivers.usb_identity import choose, identity_of, is_identity, is_volatile
from svm_robot.errors import DeviceError

FINDER = "svm-robot find ports"
BY_ID = Path("/dev/serial/by-id")


@dataclass(frozen=True)
class SerialPort:
    """One port that is there now."""

    path: str
    name: str
    serial: str
    socket: str
    """Where it is plugged in, for example ``1-2.3``; empty for what is not on USB."""
    usb: tuple[int, int] | None
    """Vendor and product id."""
    links: tuple[str, ...]
    """Its names below ``/dev/serial/by-id``."""


def serial_ports(comports: Callable[[], Iterable[Any]] = list_ports.comports, by_id: Path = BY_ID) -> list[SerialPort]:
    """All ports; ``comports`` gives pyserial's ``ListPortInfo`` or something like it."""
    return sorted((_port(info, by_id) for info in comports()), key=lambda port: port.path)


def _port(info: Any, by_id: Path) -> SerialPort:
    links = sorted(str(link) for link in by_id.glob("*") if os.path.realpath(link) == os.path.realpath(info.device))
    # pyserial tells the interface too ("1-2:1.0") for the many adapters that have two; the socket is what counts
    socket = (info.location or "").partition(":")[0]
    usb = None if info.vid is None else (info.vid, info.pid)
    described = info.product or info.description
    name = described if described and described != "n/a" else "unnamed"
    return SerialPort(info.device, name, (info.serial_number or "").strip(), socket, usb, tuple(links))


def bind_ports(
    config: Any, what: str, ports: Callable[[], Sequence[SerialPort]] = serial_ports
) -> tuple[Any, list[str]]:
    """A LeRobot configuration with every identity in its port fields replaced by today's path, and notes for the user.

    ``what`` is ``robot`` or ``teleop``. Fields named ``port`` or ``..._port`` count, also inside the arms of a
    two-armed robot. Raises ``DeviceError`` or ``ConfigError`` as ``choose`` does; ``DeviceError`` also for a port that
    may not be opened or that another process has open.
    """
    present: list[SerialPort] | None = None
    notes: list[str] = []

    def bind(part: Any, prefix: str) -> Any:
        nonlocal present
        changes: dict[str, Any] = {}
        for field in dataclasses.fields(part):
            value, name = getattr(part, field.name), f"{prefix}.{field.name}"
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                bound = bind(value, name)
                if bound is not value:
                    changes[field.name] = bound
            elif isinstance(value, str) and (field.name == "port" or field.name.endswith("_port")):
                present = list(ports()) if present is None else present
                path, note = resolve_port(value, name, present)
                notes.extend(note)
                if path != value:
                    changes[field.name] = path
        return dataclasses.replace(part, **changes) if changes else part

    return bind(config, what), notes


def resolve_port(text: str, what: str, present: Sequence[SerialPort]) -> tuple[str, list[str]]:
    """(path of today, notes) of a port as the rig file names it; a plain path stays what it is."""
    here = [port for port in present if os.path.realpath(text) == os.path.realpath(port.path)]
    if is_identity(text):
        here = [choose(text, present, what, FINDER)]
    if not here:
        return text, []
    port = here[0]
    if problem := no_access(port.path, port.usb):
        raise DeviceError(f"{what} ({text}): {problem}")
    if others := holders(port.path):
        raise DeviceError(f"{what} ({text}) is in use by {' and '.join(others)}; end it, then try again")
    stable = identity_of(port, present)
    if is_volatile(text) and stable:
        return text, [f"{what} is {text}, a name that changes when cables are moved; '{stable}' does not"]
    return (port.path if is_identity(text) else text), []
