"""One thing that was looked at, and what came of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    NOTE = "note"
    """Works, and is worth knowing; also what could not be looked at."""
    PROBLEM = "problem"
    """Will stop a session, or spoil it."""


@dataclass(frozen=True)
class Finding:
    """Of one check. Fields that do not apply are empty."""

    level: Level
    check: str
    """``port``, ``motors``, ``vitals``, ``line``, ``calibration``, ``camera``, ``rates``, ``disk``, ``software``."""
    what: str
    cause: str = ""
    """What it probably comes from, likeliest first."""
    next: str = ""
    """What to do, a command where there is one."""
    arm: str = ""
    """``robot``, ``teleop``, ``robot.left_arm``, ..."""
    joint: str = ""
    port: str = ""
    camera: str = ""
    """Role of a camera."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Plain numbers behind it."""

    @property
    def place(self) -> str:
        """``robot elbow_flex on /dev/ttyACM0``; empty for what has no place."""
        words = [self.arm, self.joint, f"camera '{self.camera}'" if self.camera else ""]
        return " ".join(word for word in words if word) + (f" on {self.port}" if self.port else "")

    def at(self, arm: str, port: str) -> "Finding":
        """The same, said of this arm."""
        return replace(self, arm=self.arm or arm, port=self.port or port)

    def to_json(self) -> dict[str, Any]:
        """Plain values; empty fields are left out."""
        return {key: value for key, value in asdict(self).items() if value != "" and value != {}}


def ok(check: str, what: str, **more: Any) -> Finding:
    """All is well."""
    return Finding(Level.OK, check, what, **more)


def note(check: str, what: str, **more: Any) -> Finding:
    """Worth knowing."""
    return Finding(Level.NOTE, check, what, **more)


def problem(check: str, what: str, **more: Any) -> Finding:
    """Must be mended."""
    return Finding(Level.PROBLEM, check, what, **more)
