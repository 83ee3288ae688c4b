"""Whether recording may go on: a dataset against the rig, and what a person accepted.

What changes the meaning of a column (robot, joints, units, rate, cameras, sizes) is refused. Another calibration,
camera device or robot of the same kind leaves the columns what they are, but the data no longer all come from one
place: that needs a word, and is noted in ``meta/provenance.json``. What either side does not know is not compared.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from svm_robot.data.layout import read_info
from svm_robot.data.provenance import RigChange, RigRecord, read_provenance, write_provenance
from svm_robot.data.schema import compare, new_info
from svm_robot.errors import DataError
from svm_robot.rollout.env import EnvSpec


def rig_record(spec: EnvSpec) -> RigRecord:
    """The rig as the provenance keeps it."""
    return RigRecord(
        robot_type=spec.robot_type,
        robot_id=spec.robot_id,
        joints=tuple(spec.joints),
        units=tuple(spec.units) or ("",) * len(spec.joints),
        calibration=spec.calibration,
        cameras={role: spec.camera_identities.get(role, "") for role in spec.cameras},
    )


def check_resume(root: Path, spec: EnvSpec, latent_dim: int | None = None, accept_changes: bool = False) -> list[str]:
    """Differences that were accepted. Raises ``DataError`` that lists everything which stands against going on."""
    old, new = read_provenance(root).latest_rig, rig_record(spec)
    barred = compare(read_info(root), new_info(spec, latent_dim)) + ([] if old is None else other_units(old, new))
    changed = [] if old is None else other_devices(old, new)
    if barred:
        raise DataError(
            f"{root} holds recordings of another shape: {'; '.join(barred + changed)}. "
            "Record into another folder, or use the rig it was recorded with"
        )
    if changed and not accept_changes:
        raise DataError(
            f"{root} was recorded with another set-up: {'; '.join(changed)}. Put it back, record into another folder, "
            "or go on with --accept_changes, which notes the change in the dataset"
        )
    return changed


def note_rig(root: Path, spec: EnvSpec, episodes: int, accepted: list[str], clock: Callable[[], float]) -> None:
    """Write into the provenance what is recorded from episode number ``episodes`` on. ``clock``: wall clock [s]."""
    kept, new = read_provenance(root), rig_record(spec)
    if episodes == 0:
        noted = replace(kept, rig=new, changes=())
    elif accepted and kept.latest_rig is not None:
        change = RigChange(episodes, tuple(accepted), filled(new, kept.latest_rig), clock())
        noted = replace(kept, changes=(*kept.changes, change))
    else:
        return
    if noted != kept:
        write_provenance(noted, root)


def other_units(old: RigRecord, new: RigRecord) -> list[str]:
    """Joints that both sides have, in another unit."""
    before, after = (dict(zip(rig.joints, rig.units, strict=True)) for rig in (old, new))
    return [
        f"unit of {joint}: {unit} in the dataset, {after[joint]} on the rig"
        for joint, unit in before.items()
        if differ(unit, after.get(joint, ""))
    ]


def other_devices(old: RigRecord, new: RigRecord) -> list[str]:
    """Another robot of the same kind, another calibration, another camera behind a role; in words."""
    pairs = [("robot id", old.robot_id, new.robot_id), ("calibration", old.calibration, new.calibration)]
    pairs += [(f"device of camera {role}", device, new.cameras.get(role, "")) for role, device in old.cameras.items()]
    return [
        f"{what} {before} in the dataset, {after} on the rig" for what, before, after in pairs if differ(before, after)
    ]


def differ(before: str, after: str) -> bool:
    """Both known, and not the same."""
    return bool(before and after) and before != after


def filled(new: RigRecord, old: RigRecord) -> RigRecord:
    """``new``, with what only ``old`` knows."""
    return replace(
        new,
        robot_id=new.robot_id or old.robot_id,
        calibration=new.calibration or old.calibration,
        units=tuple(unit or before for unit, before in zip(new.units, old.units, strict=True)),
        cameras={role: device or old.cameras.get(role, "") for role, device in new.cameras.items()},
    )
