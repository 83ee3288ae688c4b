"""People who move the robot: with a leader arm, a gamepad, or the keys of a terminal; and how they take over."""

from svm_robot.drivers.teleop.leader import TeleopPolicy

__all__ = ["TeleopPolicy"]
