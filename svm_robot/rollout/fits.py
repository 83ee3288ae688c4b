"""Whether a robot is the one a checkpoint was made for: a list of plain differences, empty when it is."""

from collections.abc import Mapping, Sequence

from svm_robot.rollout.env import RigShape

RATE_TOLERANCE = 0.01
"""Rates that differ by less than this share count as equal."""


def differences(
    spec: RigShape, *, robot_type: str, joints: Sequence[str], cameras: Mapping[str, Sequence[int]], rate_hz: float
) -> list[str]:
    """What ``spec`` has and the checkpoint was not made for. An empty ``robot_type`` or a rate of 0 is not compared."""
    found = names("joint", joints, spec.joints)
    if not found and tuple(joints) != tuple(spec.joints):
        found.append(f"joints in another order: {', '.join(spec.joints)} instead of {', '.join(joints)}")
    found += other_cameras(cameras, spec.cameras)
    if robot_type and robot_type != spec.robot_type:
        found.append(f"robot {spec.robot_type} instead of {robot_type}")
    if rate_hz and abs(rate_hz - spec.rate_hz) > RATE_TOLERANCE * rate_hz:
        found.append(f"{spec.rate_hz:g} Hz instead of {rate_hz:g} Hz")
    return found


def other_cameras(wanted: Mapping[str, Sequence[int]], got: Mapping[str, Sequence[int]]) -> list[str]:
    """Missing and unexpected cameras, role -> (height, width), and those of another size."""
    found = names("camera", list(wanted), list(got))
    for role, size in wanted.items():
        if role in got and tuple(size) != tuple(got[role]):
            has, want = ("x".join(map(str, pair)) for pair in (got[role], size))
            found.append(f"camera {role} gives {has} instead of {want} (height x width)")
    return found


def names(what: str, wanted: Sequence[str], got: Sequence[str]) -> list[str]:
    """Missing and unexpected names."""
    missing = [name for name in wanted if name not in got]
    extra = [name for name in got if name not in wanted]
    found = [f"no {what} {', '.join(missing)}"] if missing else []
    return found + ([f"unknown {what} {', '.join(extra)}"] if extra else [])
