"""Does the calibration file belong to the motors on this port, and if not, whose do they carry?"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from svm_robot.drivers.doctor.arms import Arm
from svm_robot.drivers.doctor.finding import Finding, ok, problem
from svm_robot.drivers.fingerprint import calibration_files, carried, differing, in_file, whose
from svm_robot.drivers.lerobot_devices import type_name


def check_calibration(arm: Arm, motor_ids: Sequence[int], rivals: Sequence[tuple[str, Any]]) -> Iterator[Finding]:
    """``motor_ids``: those that answer. ``rivals``: (``teleop``, device) of the other arms of this rig."""
    device, path = arm.device, Path(arm.device.calibration_fpath)
    marks = carried(arm.bus, [arm.bus.names[motor_id] for motor_id in motor_ids])
    own = in_file(path)
    wrong = differing(marks, own)
    if own and not wrong:
        yield ok("calibration", f"the motors carry the calibration '{device.id}' ({path})")
        return
    for kind, rival in rivals:
        theirs = getattr(rival, "calibration_fpath", None)
        if theirs is not None and not differing(marks, in_file(Path(theirs))):
            what = f"the ports of {arm.name} and {kind} are exchanged: here is the arm '{rival.id}'"
            advice = f"swap {arm.name}.port and {kind}.port in the rig file, or the plugs"
            yield problem("calibration", what, cause="ports are named by the order of plugging", next=advice)
            return
    found = f"the motors carry another calibration than '{device.id}' ({path})" if own else f"no calibration at {path}"
    files = calibration_files(device, *(rival for _, rival in rivals))
    others = whose(marks, [other for other in files if other != path])
    if others:
        names = ", ".join(f"'{other.stem}' ({other})" for other in others)
        cause = f"this is another arm, or it goes by another id: its motors carry {names}"
        advice = f"correct {arm.name}.port, or write {arm.name}.id: {others[0].stem}"
        yield problem("calibration", found, cause=cause, next=advice)
    elif not own:
        cause = "it was never calibrated on this computer, or under another id"
        yield problem("calibration", found, cause=cause, next=_command(arm))
    else:
        yield from _by_joint(arm, marks, own, wrong)


def _by_joint(arm: Arm, marks: Any, own: Any, wrong: dict[str, list[str]]) -> Iterator[Finding]:
    cause = "1. another arm; 2. calibrated on another computer; 3. this motor was replaced"
    if len(wrong) == 1:
        cause = "1. this motor was replaced or reset; 2. the file was changed"
    for joint, fields in wrong.items():
        there = own.get(joint, {})
        told = ", ".join(
            f"{field} {marks[joint][field]} in the motor, {there.get(field)} in the file" for field in fields
        )
        yield problem("calibration", told, cause=cause, next=_command(arm), joint=joint, values={"fields": fields})


def _command(arm: Arm) -> str:
    options = {"type": type_name(arm.device), "port": arm.port, "id": arm.device.id}
    return " ".join(["lerobot-calibrate", *(f"--{arm.kind}.{name}={value}" for name, value in options.items())])
