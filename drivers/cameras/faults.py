"""What can be wrong with a camera, as errors that name role, device and age."""

from svm_robot.errors import StaleError


class CameraError(StaleError):
    """No picture to act on: the episode ends, and nothing moves any more."""

    def __init__(self, role: str, device: str, age_s: float | None, what: str) -> None:
        """``age_s``: age of the newest picture that can be trusted [s]; None when there never was one."""
        which = f"camera '{role}' ({device})" if device else f"camera '{role}'"
        super().__init__(f"{which}: {what}; nothing moves on an old picture")
        self.role, self.device, self.age_s = role, device, age_s


class StaleCameraError(CameraError):
    """Its newest picture is older than allowed."""


class FrozenCameraError(CameraError):
    """It repeats one picture as if it were new."""


class BlankCameraError(CameraError):
    """Black, covered, or of one colour."""


class VanishedCameraError(CameraError):
    """It does not deliver any more: unplugged, crashed, or its reader has ended."""
