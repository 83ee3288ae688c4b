"""Why a device file may not be opened, and the one line that changes it. Looks, and changes nothing."""

import getpass
import grp
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SERIAL_GROUP = "dialout"


@dataclass(frozen=True)
class User:
    """Who asks."""

    name: str
    groups: frozenset[str]
    """Groups of this login session."""
    future_groups: frozenset[str]
    """Groups that a new login would have as well."""

    @staticmethod
    def current() -> "User":
        """The user of this process."""
        try:
            name = getpass.getuser()
        except (OSError, KeyError):  # a container without a user database
            name = str(os.getuid())
        groups = frozenset(_group_name(gid) for gid in os.getgroups())
        return User(name, groups, frozenset(entry.gr_name for entry in grp.getgrall() if name in entry.gr_mem))


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def no_access(
    path: str,
    usb: tuple[int, int] | None = None,
    *,
    may: Callable[[str, int], bool] = os.access,
    user: User | None = None,
) -> str:
    """What to do so that ``path`` may be read and written; empty when it may. ``usb``: vendor and product id.

    One command or one udev rule, to be used as it stands.
    """
    if may(path, os.R_OK | os.W_OK):
        return ""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return f"{path} has gone; plug it in again"
    user = user or User.current()
    group = _group_name(status.st_gid)
    if status.st_mode & 0o060 != 0o060 or group == "root":
        return f"no permission on {path}, and no group has it: {udev_rule(path, usb)}"
    if group in user.future_groups and group not in user.groups:
        return f"no permission on {path} yet: {user.name} joined the group {group} after this login; log out and in"
    return f"no permission on {path}: sudo usermod -aG {group} {user.name}, then log out and in again"


def udev_rule(path: str, usb: tuple[int, int] | None) -> str:
    """How to give a device file to a group for good."""
    video = Path(path).name.startswith("video")
    subsystem, group = ("video4linux", "video") if video else ("tty", SERIAL_GROUP)
    which = f'KERNEL=="{Path(os.path.realpath(path)).name}"'
    if usb is not None:
        which = f'ATTRS{{idVendor}}=="{usb[0]:04x}", ATTRS{{idProduct}}=="{usb[1]:04x}"'
    rule = f'SUBSYSTEM=="{subsystem}", {which}, GROUP="{group}", MODE="0660"'
    return (
        f"echo '{rule}' | sudo tee /etc/udev/rules.d/70-svm-robot.rules && sudo udevadm control --reload && "
        f"sudo udevadm trigger; your user must be in the group {group}"
    )
