"""What is plugged in, with the words a rig file names it by, and what stands in the way of using it."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from svm_robot.drivers.bus.holders import holders
from svm_robot.drivers.cameras.devices import VideoDevice
from svm_robot.drivers.cameras.mode import Mode
from svm_robot.drivers.cameras.v4l2 import modes
from svm_robot.drivers.clock import Clock
from svm_robot.drivers.usb.access import no_access
from svm_robot.drivers.usb.identity import SOCKET, Device, identity_of

LOOK_EVERY_S = 0.3


@dataclass(frozen=True)
class Found:
    """One port or camera."""

    device: Device
    identity: str
    """What to write into the rig file; empty when only its volatile path tells it."""
    note: str
    """What to know about that identity; empty for a serial number of its own."""
    held_by: tuple[str, ...]
    problem: str
    """Why it may not be opened, with the line that changes it; empty when it may."""
    modes: tuple[Mode, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        device = self.device
        usb = None if device.usb is None else f"{device.usb[0]:04x}:{device.usb[1]:04x}"
        plain = {"path": device.path, "name": device.name, "identity": self.identity, "serial": device.serial}
        more = {"socket": device.socket, "usb": usb, "links": list(device.links), "held_by": list(self.held_by)}
        offered = [asdict(mode) for mode in self.modes]
        return {**plain, **more, "problem": self.problem, "note": self.note, "modes": offered}


def look_at(
    devices: Sequence[Device],
    who_holds: Callable[[str], Sequence[str]] = holders,
    blocked: Callable[[str, tuple[int, int] | None], str] = no_access,
) -> list[Found]:
    """Everything known of each device, without opening what is not ours."""
    return [_look_at(device, devices, who_holds, blocked) for device in devices]


def _look_at(
    device: Device,
    among: Sequence[Device],
    who_holds: Callable[[str], Sequence[str]],
    blocked: Callable[[str, tuple[int, int] | None], str],
) -> Found:
    identity = identity_of(device, among)
    problem = blocked(device.path, device.usb)
    offered = tuple(modes(device.path)) if isinstance(device, VideoDevice) and not problem else ()
    return Found(device, identity, _note(device, identity), tuple(who_holds(device.path)), problem, offered)


def _note(device: Device, identity: str) -> str:
    if not identity:
        return "nothing but its path tells it, and that may change"
    if not identity.startswith(SOCKET):
        return ""
    why = f"another one has its serial number {device.serial} too" if device.serial else "it has no serial number"
    return f"{why}, so it is known by its socket: moving the plug breaks the binding; --unplug tells which one it is"


def unplugged(
    devices: Callable[[], Sequence[Device]], clock: Clock, timeout_s: float, say: Callable[[str], None]
) -> Found | None:
    """Ask for one device to be unplugged and plugged in again; which one was it? None: nothing happened in time.

    What comes back may have another path: it is known again by where it is plugged in.
    """
    before = devices()
    say(f"{len(before)} there now. Unplug the one you want to know of, within {timeout_s:g} s ...")
    keys = {_key(device): device for device in before}
    gone = _wait(lambda: set(keys) - set(map(_key, devices())), clock, timeout_s)
    if not gone:
        return None
    key = min(gone)
    lost = keys[key]
    say(f"that was {lost.path} ({lost.name}); plug it into the same socket again ...")
    _wait(lambda: {key} & set(map(_key, devices())), clock, timeout_s)
    back = next((device for device in devices() if _key(device) == key), lost)
    identity = identity_of(back, before)
    return Found(back, identity, _note(back, identity), (), "")


def _key(device: Device) -> str:
    """Stays the same for a device that keeps its place; two nodes of one device have their own."""
    return f"{device.socket}|{device.serial}|{device.name}" if device.socket else device.path


def _wait(condition: Callable[[], set[str]], clock: Clock, timeout_s: float) -> set[str]:
    give_up_s = clock.now_s() + timeout_s
    while not (found := condition()) and clock.now_s() < give_up_s:
        clock.sleep_until_s(clock.now_s() + LOOK_EVERY_S)
    return found
