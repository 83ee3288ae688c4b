"""Serial ports: is it there, may we open it, who has it, how long does its adapter wait."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from svm_robot.drivers.bus.holders import holders
from svm_robot.drivers.doctor.finding import Finding, note, ok, problem
from svm_robot.drivers.usb.access import no_access
from svm_robot.drivers.usb.identity import choose, identity_of, is_identity, is_volatile
from svm_robot.drivers.usb.ports import FINDER, SerialPort, serial_ports
from svm_robot.errors import ConfigError, DeviceError

TIMERS = Path("/sys/bus/usb-serial/devices")
QUICK_MS = 1


def other_programs(path: str) -> Sequence[str]:
    """Who has the port open. The maker of a pseudo-terminal may keep its end open; a lock shows when it is opened."""
    return [] if os.path.realpath(path).startswith("/dev/pts/") else holders(path)


@dataclass(frozen=True)
class PortLook:
    """How ports are looked at; tests give their own."""

    ports: Callable[[], Sequence[SerialPort]] = serial_ports
    blocked: Callable[[str, tuple[int, int] | None], str] = no_access
    who_holds: Callable[[str], Sequence[str]] = other_programs
    timers: Path = TIMERS


def check_port(name: str, text: str, look: PortLook) -> Iterator[Finding]:
    """``name``: ``robot.port``; ``text``: what the rig file says there."""
    arm, present = name.rpartition(".")[0], list(look.ports())
    try:
        known = choose(text, present, name, FINDER) if is_identity(text) else None
    except (DeviceError, ConfigError) as error:
        cause = "unplugged, or another device than in the rig file"
        yield problem("port", str(error), cause=cause, next=FINDER, arm=arm)
        return
    path = known.path if known is not None else text
    here = known or next((port for port in present if os.path.realpath(port.path) == os.path.realpath(path)), None)
    if not _is_device(path):
        others = ", ".join(f"{port.path} ({port.name})" for port in present) or "none"
        yield problem(
            "port",
            f"there is no port {path}",
            cause=f"cable or power of the adapter, or it has another name now; ports that are there: {others}",
            next=f"plug it in; `{FINDER}` prints the name to write as {name}",
            arm=arm,
            port=path,
        )
        return
    if blocked := look.blocked(path, here.usb if here else None):
        yield problem("port", blocked, cause="this user may not open it", next=blocked, arm=arm, port=path)
        return
    if others_have := list(look.who_holds(path)):
        what = f"in use by {' and '.join(others_have)}"
        yield problem("port", what, cause="another program drives this arm", next="end it", arm=arm, port=path)
        return
    stable = identity_of(here, present) if here is not None else ""
    if is_volatile(text) and stable:
        what = f"{text} is a name that changes when cables are moved"
        yield note("port", what, next=f"write {name.rpartition('.')[2]}: {stable}", arm=arm, port=path)
    yield ok("port", f"{path} is there and may be opened", arm=arm, port=path)
    yield from _latency(path, arm, look.timers)


def _is_device(path: str) -> bool:
    """A character device, links followed."""
    try:
        return stat.S_ISCHR(Path(path).stat().st_mode)
    except PermissionError:
        return True  # it is there: permissions are told by the next check
    except OSError:
        return False


def _latency(path: str, arm: str, timers: Path) -> Iterator[Finding]:
    """FTDI adapters keep bytes back for 16 ms unless told otherwise. Others have no such timer."""
    timer = timers / Path(os.path.realpath(path)).name / "latency_timer"
    try:
        waits_ms = int(timer.read_text())
    except (OSError, ValueError):
        return
    if waits_ms <= QUICK_MS:
        yield ok("port", f"latency timer {waits_ms} ms", arm=arm, port=path, values={"latency_timer_ms": waits_ms})
        return
    yield note(
        "port",
        f"latency timer {waits_ms} ms: every reply may come so much later",
        cause="default of FTDI adapters; svm-robot asks for 1 ms when it opens the port, LeRobot's own commands do not",
        next=f"echo 1 | sudo tee {timer}",
        arm=arm,
        port=path,
        values={"latency_timer_ms": waits_ms},
    )
