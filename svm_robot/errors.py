"""What this toolkit raises. Every error says what was wrong, what is allowed, and what to do next.

The classes also derive from the builtin a caller would expect, so ``except ValueError`` keeps working.
This file is the one thing that all rooms may import.
"""


class SvmRobotError(Exception):
    """Base of all errors a user can act on. The command line prints it as one line and exits with ``exit_code``."""

    exit_code = 1


class ConfigError(SvmRobotError, ValueError):
    """A rig file, an option or a combination of them is wrong."""

    exit_code = 2


class DataError(SvmRobotError, ValueError):
    """A dataset, an episode or a label is not what the command needs."""

    exit_code = 3


class DiskError(DataError, OSError):
    """The disk is full, or cannot be written."""

    exit_code = 1


class CheckpointError(SvmRobotError, ValueError):
    """A policy or reward checkpoint is missing, damaged or was made for another robot."""

    exit_code = 4


class DeviceError(SvmRobotError, ConnectionError):
    """An arm, a camera or a port does not answer as it should."""

    exit_code = 5


class StaleError(DeviceError, TimeoutError):
    """A reading is older than the rig allows; nothing may move on it."""


class JointFault(DeviceError):  # noqa: N818  (what a motor reports, not a mistake of the program)
    """A motor reports a fault or is limp: nothing moves that joint until the fault is cleared. Told once per joint."""

    def __init__(self, message: str, joint: str, kinds: tuple[str, ...]) -> None:
        super().__init__(message)
        self.joint, self.kinds = joint, kinds


class UnsafeActionError(SvmRobotError, ValueError):
    """An action that must never reach a motor (not finite, wrong joints)."""

    exit_code = 6
