"""What may reach a motor, and what is done when nobody commands it any more: docs/safety.md tells it in words."""

from svm_robot.drivers.safety.config import MotorLimits, SafetyConfig
from svm_robot.drivers.safety.limits import Safety

__all__ = ["MotorLimits", "Safety", "SafetyConfig"]
