"""Opening a serial port for ourselves alone, and saying why where that fails."""

import contextlib
import errno
import fcntl
import os
import termios
from pathlib import Path
from typing import Any

from svm_robot.drivers.bus.holders import holders
from svm_robot.drivers.usb.access import no_access
from svm_robot.errors import DeviceError


def open_port(port: str, baudrate: int) -> Any:
    """A pyserial port that nobody else can open or lock. Raises ``DeviceError`` with the reason and the way out."""
    import serial

    try:
        opened = serial.Serial(port=port, baudrate=baudrate, timeout=0, exclusive=True)
    except (OSError, ValueError) as error:
        raise DeviceError(_why_not(port, error)) from error
    with contextlib.suppress(OSError):
        fcntl.ioctl(opened.fileno(), termios.TIOCEXCL)  # also keeps out programs that lock nothing (root excepted)
    if others := _others(port):
        close_port(opened)
        raise DeviceError(f"{port} is in use by {' and '.join(others)}; end it, then try again")
    with contextlib.suppress(OSError, ValueError, NotImplementedError, AttributeError):
        opened.set_low_latency_mode(True)  # an FTDI adapter hands bytes over every 16 ms otherwise
    opened.reset_input_buffer()
    return opened


def close_port(opened: Any) -> None:
    """Give the port back; may be called twice."""
    if opened.is_open:
        with contextlib.suppress(OSError):
            fcntl.ioctl(opened.fileno(), termios.TIOCNXCL)
        with contextlib.suppress(OSError, termios.error):  # of a port that is gone there is nothing to close
            opened.close()


def _others(port: str) -> list[str]:
    """Programs that had the port open before us and locked nothing. A pseudo-terminal's maker may keep its end open."""
    return [] if os.path.realpath(port).startswith("/dev/pts/") else holders(port)


def _why_not(port: str, error: Exception) -> str:
    path = Path(port)
    number = getattr(error, "errno", None) or getattr(error.__cause__ or error.__context__, "errno", None)
    if not path.exists():
        return f"there is no port {port}: is the cable plugged in? `lerobot-find-port` tells which port an arm has"
    if problem := no_access(port):
        return problem
    if number in (errno.EAGAIN, errno.EBUSY) or "lock" in str(error):
        who = " and ".join(holders(port)) or "another program"
        return f"{port} is in use by {who}; end it, then try again"
    return f"cannot open {port}: {error}"
