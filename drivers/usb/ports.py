"""Serial ports: which there are, and which of them an identity in the rig file means."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from serial.tools import list_ports

from svm_robot.drivers.bus.holders import holders
from svm_robot.drivers.usb.access import no_access
from svm_robot.drivers.usb.identity import Device, choose, identity_of, is_identity, volatility
from svm_robot.errors import DeviceError

FINDER = "svm-robot find ports"
BY_ID = Path("/dev/serial/by-id")


class SerialPort(Device):
    """One port; its links lie below ``/dev/serial/by-id``."""


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


def named_ports(config: Any, what: str) -> Iterator[tuple[str, str]]:
    """(``robot.port``, text in the rig file) of every port that a LeRobot configuration names.

    Fields named ``port`` or ``..._port`` count, also inside the arms of a two-armed robot.
    """
    for field in dataclasses.fields(config):
        value, name = getattr(config, field.name), f"{what}.{field.name}"
        if dataclasses.is_dataclass(value):
            yield from named_ports(value, name)
        elif isinstance(value, str) and (field.name == "port" or field.name.endswith("_port")):
            yield name, value


def bind_ports(
    config: Any, what: str, ports: Callable[[], Sequence[SerialPort]] = serial_ports
) -> tuple[Any, list[str]]:
    """A LeRobot configuration with every identity in its port fields replaced by today's path, and notes for the user.

    ``what`` is ``robot`` or ``teleop``. Raises ``DeviceError`` or ``ConfigError`` as ``choose`` does; ``DeviceError``
    also for a port that may not be opened or that another process has open.
    """
    named = dict(named_ports(config, what))
    present = ports() if named else ()
    resolved = {name: resolve_port(text, name, present) for name, text in named.items()}
    notes = [note for _, about in resolved.values() for note in about]
    moved = {name: path for name, (path, _) in resolved.items() if path != named[name]}
    return _with_ports(config, what, moved), notes


def _with_ports(config: Any, what: str, paths: Mapping[str, str]) -> Any:
    """The configuration with other texts in some fields; itself where none of them is in it."""
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value, name = getattr(config, field.name), f"{what}.{field.name}"
        if name in paths:
            changes[field.name] = paths[name]
        elif any(path.startswith(f"{name}.") for path in paths):
            changes[field.name] = _with_ports(value, name, paths)
    return dataclasses.replace(config, **changes) if changes else config


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
    return (port.path if is_identity(text) else text), volatility(what, text, identity_of(port, present))
