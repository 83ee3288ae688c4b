"""How far each joint of a connected robot may go, from its own calibration."""

from typing import Any

from svm_robot.drivers.joints import JOINT_LIMITS


def joint_limits(robot: Any) -> dict[str, tuple[float, float]]:
    """Joint key -> (lower, upper) in robot units; empty for a robot that has no calibrated bus of motors.

    In LeRobot's degrees mode nothing else holds a target inside the calibrated range before it is sent.
    """
    if robot.name == "virtual_so101":
        return dict(JOINT_LIMITS)
    bus: Any = getattr(robot, "bus", None)
    calibration = getattr(bus, "calibration", None) or {}
    limits = {}
    for motor in calibration:
        if motor not in bus.motors:
            continue
        match bus.motors[motor].norm_mode.value:
            case "degrees":
                half = half_range_deg(bus, motor)
                limits[f"{motor}.pos"] = (-half, half)
            case "range_0_100":
                limits[f"{motor}.pos"] = (0.0, 100.0)
            case "range_m100_100":
                limits[f"{motor}.pos"] = (-100.0, 100.0)
    return limits


def half_range_deg(bus: Any, motor: str) -> float:
    """How far a motor turns from the middle of its calibrated range to either end [deg]."""
    ends, turn = bus.calibration[motor], bus.model_resolution_table[bus.motors[motor].model] - 1
    return float((ends.range_max - ends.range_min) / 2 * 360 / turn)
